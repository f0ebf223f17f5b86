<?php

declare(strict_types=1);

/** `$n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(int $n): string
{
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x = ($x * 1664525 + 1013904223) & 0xFFFFFFFF;
    }

    return (string) $x;
}

function number(string $key, int $otherwise): int
{
    $value = $_GET[$key] ?? '';

    return is_string($value) && preg_match('/^\d{1,18}$/D', $value) ? (int) $value : $otherwise;
}

/**
 * What of the axis `opt` is in force: a JIT without a buffer is off, and a script younger than two seconds
 * is not cached, whatever the settings say; XDEBUG_MODE in the environment wins over xdebug.mode.
 */
function opt_in_force(): string
{
    $found = [];
    $opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
    if ($opcache !== false && opcache_is_script_cached(__FILE__)) {
        $found[] = ($opcache['jit']['on'] ?? false) ? 'jit' : 'opcache';
    }
    if (extension_loaded('xdebug')) {
        $found[] = xdebug_info('mode') === [] ? 'xdebug-off' : 'xdebug-on';
    }

    return $found === [] ? 'none' : implode('+', $found);
}

function answer(int $status, string $type, string $body): void
{
    http_response_code($status);
    header('Content-Type: ' . $type);
    // Named, so that a proxy in front neither waits for the end nor sends chunks.
    header('Content-Length: ' . strlen($body));
    echo $body;
}

// REQUEST_URI is what the client asked for, under every server that comes here.
$path = strtok($_SERVER['REQUEST_URI'], '?');

if ($path === '/') {
    answer(200, 'text/plain', 'Hello, World!');
} elseif ($path === '/json') {
    answer(200, 'application/json', json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR));
} elseif ($path === '/sleep') {
    // This route waits in any case: here a wrong setting is found without costing the others anything.
    $asked = get_cfg_var('prony.opt');
    $found = opt_in_force();
    usleep(1000 * number('ms', 0));
    if ($asked === $found) {
        answer(200, 'text/plain', 'Hello, World!');
    } else {
        answer(500, 'text/plain', "The setting opt=$asked is not in force, opt=$found is.");
    }
} elseif ($path === '/work') {
    answer(200, 'text/plain', work(number('n', 1000)));
} elseif ($path === '/echo' && $_SERVER['REQUEST_METHOD'] === 'POST') {
    answer(200, 'application/octet-stream', (string) file_get_contents('php://input'));
} else {
    answer(404, 'text/plain', 'Not Found');
}
