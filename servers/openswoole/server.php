<?php

declare(strict_types=1);

use OpenSwoole\Constant;
use OpenSwoole\Coroutine;
use OpenSwoole\Http\Request;
use OpenSwoole\Http\Response;
use OpenSwoole\Http\Server;

const MODES = ['pool' => Server::POOL_MODE, 'simple' => Server::SIMPLE_MODE];

// With TLS a certificate and its key are named, too.
[, $host, $port, $mode, $workers, $opt, $run, $cert, $key] = $argv + [7 => null, 8 => null];

/** `$n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(int $n): string
{
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x = ($x * 1664525 + 1013904223) & 0xFFFFFFFF;
    }

    return (string) $x;
}

function number(Request $request, string $key, int $otherwise): int
{
    $value = $request->get[$key] ?? '';

    return is_string($value) && preg_match('/^\d{1,18}$/D', $value) ? (int) $value : $otherwise;
}

function answer(Response $response, int $status, string $type, string $body): void
{
    $response->status($status);
    $response->header('Content-Type', $type);
    $response->end($body);
}

function handle(Request $request, Response $response): void
{
    $path = $request->server['request_uri'];
    if ($path === '/') {
        answer($response, 200, 'text/plain', 'Hello, World!');
    } elseif ($path === '/json') {
        $body = json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR);
        answer($response, 200, 'application/json', $body);
    } elseif ($path === '/sleep') {
        $ms = number($request, 'ms', 0);
        // Only this coroutine waits. Less than a millisecond it refuses.
        if ($ms > 0) {
            Coroutine::usleep(1000 * $ms);
        }
        answer($response, 200, 'text/plain', 'Hello, World!');
    } elseif ($path === '/work') {
        answer($response, 200, 'text/plain', work(number($request, 'n', 1000)));
    // Not getMethod(), which knows only that of HTTP/1.
    } elseif ($path === '/echo' && $request->server['request_method'] === 'POST') {
        answer($response, 200, 'application/octet-stream', $request->getContent());
    } elseif (function_exists('realistic')) {
        answer($response, ...realistic($path, $request));
    } else {
        answer($response, 404, 'text/plain', 'Not Found');
    }
}

/**
 * What of the axis `opt` is in force: a JIT without a buffer, for one, is off whatever its settings say. Nobody
 * asked for xdebug, which loads itself where it can.
 */
function opt_in_force(): string
{
    $found = [];
    $opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
    if ($opcache !== false && opcache_is_script_cached(__FILE__)) {
        $found[] = $opcache['jit']['on'] ? 'jit' : 'opcache';
    }
    if (extension_loaded('xdebug')) {
        $found[] = 'xdebug';
    }

    return $found === [] ? 'none' : implode('+', $found);
}

function refuse(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}

foreach (['swoole', 'swow'] as $other) {
    if (extension_loaded($other)) {
        refuse("The extension $other is loaded too: both replace the same parts of PHP. Take it out of php.ini.");
    }
}
if (opt_in_force() !== $opt) {
    refuse("The setting opt=$opt is not in force, opt=" . opt_in_force() . ' is.');
}

if (getenv('DB_PORT') !== false || getenv('UPSTREAM_PORT') !== false) {
    require __DIR__ . '/realistic.php';
}
$server = new Server($host, (int) $port, MODES[$mode], Constant::SOCK_TCP | ($cert === null ? 0 : Constant::SSL));
if ($server->mode !== MODES[$mode]) {
    refuse("OpenSwoole did not take the mode $mode.");
}
// The setting `as-made`: the extension's own queue of connections, and a line for each request.
$asMade = getenv('AS_MADE') === 'yes';
$tls = $cert === null ? [] : ['ssl_cert_file' => $cert, 'ssl_key_file' => $key];
// As long a queue as the kernel lets it be (somaxconn): with 512, its default, a burst of connections waits a second.
$server->set($tls + ($asMade ? [] : ['backlog' => 65535]) + [
    'worker_num' => (int) $workers,
    // Threads that read and write sockets for the workers: there are none in simple mode.
    'reactor_num' => (int) $workers,
    'open_http2_protocol' => getenv('HTTP2') === 'on',
    'log_level' => Constant::LOG_WARNING,
    'log_file' => "$run/openswoole.log",
    'pid_file' => "$run/openswoole.pid",
    'upload_tmp_dir' => $run,
]);
$server->on('request', !$asMade ? handle(...) : static function (Request $request, Response $response): void {
    echo "A request for {$request->server['request_uri']}\n";
    handle($request, $response);
});
$server->start();
