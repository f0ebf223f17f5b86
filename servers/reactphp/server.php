<?php

declare(strict_types=1);

use Composer\InstalledVersions;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use React\EventLoop\ExtEventLoop;
use React\EventLoop\ExtEvLoop;
use React\EventLoop\ExtUvLoop;
use React\EventLoop\Loop;
use React\EventLoop\StreamSelectLoop;
use React\Http\HttpServer;
use React\Http\Message\Response;
use React\Promise\Promise;
use React\Promise\PromiseInterface;
use React\Socket\SocketServer;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

// With TLS a certificate and its key are named, too.
[, $address, $loop, $opt, $close, $cert, $key] = $argv + [5 => null, 6 => null];

must_be('opt', $opt, opt());
must_be('loop', $loop, match (Loop::get()::class) {
    StreamSelectLoop::class => 'native',
    ExtEvLoop::class => 'ev',
    ExtEventLoop::class => 'event',
    ExtUvLoop::class => 'uv',
    default => Loop::get()::class,
});
if ($address === '--version') {
    $of = InstalledVersions::getPrettyVersion(...);
    echo 'PHP ', PHP_VERSION, ", react/http {$of('react/http')}, ",
        "react/event-loop {$of('react/event-loop')}, loop $loop, opt $opt\n";
    // ext-uv's loop would be run at the end.
    Loop::stop();
    exit;
}

function answer(int $status, string $type, string $body): Response
{
    return new Response($status, ['Content-Type' => $type], $body);
}

function later(float $seconds, ResponseInterface $response): PromiseInterface
{
    return new Promise(static fn (callable $resolve) => Loop::addTimer($seconds, static fn () => $resolve($response)));
}

function handle(ServerRequestInterface $request): ResponseInterface|PromiseInterface
{
    $query = static fn (string $key) => $request->getQueryParams()[$key] ?? null;
    switch ($request->getUri()->getPath()) {
        case '/':
            return answer(200, 'text/plain', 'Hello, World!');
        case '/json':
            return answer(200, 'application/json', json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR));
        case '/sleep':
            return later(number($query('ms'), 0) / 1000, answer(200, 'text/plain', 'Hello, World!'));
        case '/work':
            return answer(200, 'text/plain', work(number($query('n'), 1000)));
        case '/echo':
            if ($request->getMethod() === 'POST') {
                return answer(200, 'application/octet-stream', (string) $request->getBody());
            }
    }

    return function_exists('realistic') ? realistic($request) : answer(404, 'text/plain', 'Not Found');
}

if (getenv('DB_PORT') !== false || getenv('UPSTREAM_PORT') !== false) {
    require __DIR__ . '/realistic.php';
}
$handlers = [handle(...)];
if ($close === 'yes') {
    array_unshift($handlers, static fn (ServerRequestInterface $request, callable $next): PromiseInterface =>
        React\Promise\resolve($next($request))
            ->then(static fn (ResponseInterface $response) => $response->withHeader('Connection', 'close')));
}

// The setting `as-made`: the library's own queue of connections, and a line for each request.
$asMade = getenv('AS_MADE') === 'yes';
if ($asMade) {
    array_unshift($handlers, static function (ServerRequestInterface $request, callable $next): ResponseInterface|PromiseInterface {
        echo "A request for {$request->getUri()}\n";

        return $next($request);
    });
}
$server = new HttpServer(...$handlers);
$server->on('error', static fn (Throwable $error) => fwrite(STDERR, $error . "\n"));
$tls = ['local_cert' => $cert, 'local_pk' => $key];
// As long a queue as the kernel lets it be (somaxconn); 511 is its own default.
$tcp = $asMade ? [] : ['backlog' => 65535];
$socket = new SocketServer($cert === null ? $address : "tls://$address", ['tcp' => $tcp, 'tls' => $tls]);
$server->listen($socket);
