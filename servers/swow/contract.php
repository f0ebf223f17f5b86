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

function number(string $query, string $key, int $otherwise): int
{
    parse_str($query, $values);
    $value = $values[$key] ?? '';

    return is_string($value) && preg_match('/^\d{1,18}$/D', $value) ? (int) $value : $otherwise;
}

/** @return array{int, string, string} status, type and body */
function answer(string $method, string $path, string $query, string $body): array
{
    if ($path === '/') {
        return [200, 'text/plain', 'Hello, World!'];
    }
    if ($path === '/json') {
        return [200, 'application/json', json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR)];
    }
    if ($path === '/sleep') {
        // Swow's: only this coroutine waits.
        msleep(number($query, 'ms', 0));

        return [200, 'text/plain', 'Hello, World!'];
    }
    if ($path === '/work') {
        return [200, 'text/plain', work(number($query, 'n', 1000))];
    }
    if ($path === '/echo' && $method === 'POST') {
        return [200, 'application/octet-stream', $body];
    }

    return [404, 'text/plain', 'Not Found'];
}

/** What of the axis `opt` is in force: a JIT without a buffer, for one, is off whatever its settings say. */
function opt_in_force(): string
{
    $opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
    if ($opcache === false || !opcache_is_script_cached(__FILE__)) {
        return 'none';
    }

    return $opcache['jit']['on'] ? 'jit' : 'opcache';
}

function refuse(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}

/** Ends the program unless it runs as its label says. */
function check_settings(string $opt): void
{
    foreach (['swoole', 'openswoole'] as $other) {
        if (extension_loaded($other)) {
            refuse("The extension $other is loaded too: both replace the same parts of PHP. Take it out of php.ini.");
        }
    }
    if (opt_in_force() !== $opt) {
        refuse("The setting opt=$opt is not in force, opt=" . opt_in_force() . ' is.');
    }
}
