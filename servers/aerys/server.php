<?php

declare(strict_types=1);

use Aerys\Host;
use Aerys\Request;
use Aerys\Response;
use Amp\Delayed;
use Amp\Loop;
use PackageVersions\Versions;
use Psr\Log\AbstractLogger;
use Psr\Log\LogLevel;

use function Aerys\initServer;

// Written for PHP 7.0: no type that may be null, no void.

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

// With TLS a certificate and its key are named, too.
list(, $host, $port, $loop, $opt, $close, $cert, $key) = $argv + [6 => null, 7 => null];

$drivers = [
    Loop\NativeDriver::class => 'native',
    Loop\EvDriver::class => 'ev',
    Loop\EventDriver::class => 'event',
    Loop\UvDriver::class => 'uv',
];
$driver = get_class(Loop::get());
must_be('opt', $opt, opt());
must_be('loop', $loop, $drivers[$driver] ?? $driver);
if ($host === '--version') {
    $of = static function (string $package): string {
        return explode('@', Versions::getVersion($package))[0];
    };
    echo 'PHP ', PHP_VERSION, ", amphp/aerys {$of('amphp/aerys')}, amphp/amp {$of('amphp/amp')}, loop $loop, opt $opt\n";
    exit;
}

function answer(Response $response, int $status, string $type, string $body)
{
    // One piece, so that its length is named and no chunks are sent.
    $response->setStatus($status)->setHeader('content-type', $type)->end($body);
}

function handle(Request $request, Response $response)
{
    $path = strtok($request->getUri(), '?');
    if ($path === '/') {
        answer($response, 200, 'text/plain', 'Hello, World!');
    } elseif ($path === '/json') {
        answer($response, 200, 'application/json', json_encode(['message' => 'Hello, World!']));
    } elseif ($path === '/work') {
        answer($response, 200, 'text/plain', work(number($request->getParam('n'), 1000)));
    } elseif ($path === '/sleep' || ($path === '/echo' && $request->getMethod() === 'POST')) {
        return waiting($path, $request, $response);
    } else {
        answer($response, 404, 'text/plain', 'Not Found');
    }

    return null;
}

/** The routes that wait are coroutines. */
function waiting(string $path, Request $request, Response $response): Generator
{
    if ($path === '/sleep') {
        yield new Delayed(number($request->getParam('ms'), 0));
        answer($response, 200, 'text/plain', 'Hello, World!');
    } else {
        answer($response, 200, 'application/octet-stream', yield $request->getBody());
    }
}

/** What goes wrong is said; requests are not logged. */
$logger = new class extends AbstractLogger {
    public function log($level, $message, array $context = [])
    {
        if (in_array($level, [LogLevel::ERROR, LogLevel::CRITICAL, LogLevel::ALERT, LogLevel::EMERGENCY], true)) {
            fwrite(STDERR, "$level: $message\n");
        }
    }
};

$options = [
    // Its defaults serve 30 connections of an address, 1,000 in all, and 1,000 requests of each.
    'connectionsPerIP' => PHP_INT_MAX,
    'maxConnections' => PHP_INT_MAX,
    'maxRequestsPerConnection' => $close === 'yes' ? 1 : PHP_INT_MAX,
    // As long a queue as the kernel lets it be (somaxconn).
    'socketBacklogSize' => 65535,
];
// The setting `as-made`: its defaults but for the connections of an address, and the time that its header then announced.
if (getenv('AS_MADE') === 'yes') {
    $options = ['connectionsPerIP' => 100, 'connectionTimeout' => 6] + ($close === 'yes' ? ['maxRequestsPerConnection' => 1] : []);
}
Loop::run(static function () use ($logger, $host, $port, $options, $cert, $key): Generator {
    $site = (new Host())->expose($host, (int) $port)->use('handle');
    if ($cert !== null) {
        $site->encrypt($cert, $key);
    }
    yield initServer($logger, [$site], $options)->start();
});
