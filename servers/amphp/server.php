<?php

declare(strict_types=1);

use Amp\Http\Server\DefaultErrorHandler;
use Amp\Http\Server\Request;
use Amp\Http\Server\RequestHandler\ClosureRequestHandler;
use Amp\Http\Server\Response;
use Amp\Http\Server\SocketHttpServer;
use Amp\Http\Server\Driver\SocketClientFactory;
use Amp\Socket\BindContext;
use Amp\Socket\Certificate;
use Amp\Socket\InternetAddress;
use Amp\Socket\ResourceServerSocketFactory;
use Amp\Socket\ServerTlsContext;
use Composer\InstalledVersions;
use Psr\Log\AbstractLogger;
use Psr\Log\LogLevel;
use Revolt\EventLoop;
use Revolt\EventLoop\Driver;

use function Amp\delay;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

// With TLS a certificate and its key are named, too.
[, $address, $loop, $opt, $close, $cert, $key] = $argv + [5 => null, 6 => null];

must_be('opt', $opt, opt());
must_be('loop', $loop, match (EventLoop::getDriver()::class) {
    Driver\StreamSelectDriver::class => 'native',
    Driver\EvDriver::class => 'ev',
    Driver\EventDriver::class => 'event',
    Driver\UvDriver::class => 'uv',
    default => EventLoop::getDriver()::class,
});
if ($address === '--version') {
    $of = InstalledVersions::getPrettyVersion(...);
    echo 'PHP ', PHP_VERSION, ", amphp/http-server {$of('amphp/http-server')}, ",
        "revolt/event-loop {$of('revolt/event-loop')}, loop $loop, opt $opt\n";
    exit;
}

function answer(int $status, string $type, string $body): Response
{
    // Headers given to the constructor would drop the length that the body gave, and chunks be sent.
    $response = new Response($status, body: $body);
    $response->setHeader('content-type', $type);

    return $response;
}

function handle(Request $request): Response
{
    switch ($request->getUri()->getPath()) {
        case '/':
            return answer(200, 'text/plain', 'Hello, World!');
        case '/json':
            return answer(200, 'application/json', json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR));
        case '/sleep':
            delay(number($request->getQueryParameter('ms'), 0) / 1000);

            return answer(200, 'text/plain', 'Hello, World!');
        case '/work':
            return answer(200, 'text/plain', work(number($request->getQueryParameter('n'), 1000)));
        case '/echo':
            if ($request->getMethod() === 'POST') {
                return answer(200, 'application/octet-stream', $request->getBody()->buffer());
            }
    }

    return answer(404, 'text/plain', 'Not Found');
}

/** What goes wrong is said; requests are not logged. */
$logger = new class extends AbstractLogger {
    public function log($level, $message, array $context = []): void
    {
        if (in_array($level, [LogLevel::ERROR, LogLevel::CRITICAL, LogLevel::ALERT, LogLevel::EMERGENCY], true)) {
            fwrite(STDERR, "$level: $message\n");
        }
    }
};

// Not createForDirectAccess(): it serves 1,000 connections at most, and compresses.
$server = new SocketHttpServer($logger, new ResourceServerSocketFactory(), new SocketClientFactory($logger));
// No delay: head and body are two writes, and Nagle with delayed ACK would make 44 ms of each answer.
$context = (new BindContext())->withTcpNoDelay();
// The setting `as-made`: the library's own queue of connections, and a line for each request.
$asMade = getenv('AS_MADE') === 'yes';
if (!$asMade) {
    // As long a queue as the kernel lets it be (somaxconn).
    $context = $context->withBacklog(65535);
}
if ($cert !== null) {
    $context = $context->withTlsContext((new ServerTlsContext())->withDefaultCertificate(new Certificate($cert, $key)));
}
$server->expose(InternetAddress::fromString($address), $context);
$handler = $close === 'yes'
    ? static function (Request $request): Response {
        $response = handle($request);
        $response->setHeader('connection', 'close');

        return $response;
    }
    : handle(...);
$server->start(new ClosureRequestHandler(!$asMade ? $handler : static function (Request $request) use ($handler): Response {
    echo "A request for {$request->getUri()}\n";

    return $handler($request);
}), new DefaultErrorHandler());
EventLoop::run();
