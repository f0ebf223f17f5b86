<?php

declare(strict_types=1);

use Composer\InstalledVersions;
use Workerman\Connection\TcpConnection;
use Workerman\Events;
use Workerman\Protocols\Http\Request;
use Workerman\Protocols\Http\Response;
use Workerman\Timer;
use Workerman\Worker;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

// With TLS a certificate and its key are named, too.
[, $address, $workers, $run, $loop, $opt, $close, $cert, $key] = $argv + [7 => null, 8 => null];

must_be('opt', $opt, opt());
// Only ext-event is picked up by itself.
Worker::$eventLoopClass = match ($loop) {
    'native' => Events\Select::class,
    'ev' => Events\Ev::class,
    'event' => Events\Event::class,
};
if ($loop !== 'native') {
    must_be('loop', $loop, extension_loaded($loop) ? $loop : 'native');
}
if ($address === '--version') {
    $of = InstalledVersions::getPrettyVersion(...);
    echo 'PHP ', PHP_VERSION, ", workerman {$of('workerman/workerman')}, loop $loop, opt $opt\n";
    exit;
}

define('CLOSE', $close === 'yes');

function answer(Request $request, int $status, string $type, string $body): void
{
    $response = new Response($status, ['Content-Type' => $type], $body);
    // Workerman leaves it to the application to heed what the client asks for.
    if (CLOSE || strtolower((string) $request->header('connection')) === 'close') {
        $response->header('Connection', 'close');
        $request->connection->close($response);
    } else {
        $request->connection->send($response);
    }
}

function handle(TcpConnection $connection, Request $request): void
{
    switch ($request->path()) {
        case '/':
            answer($request, 200, 'text/plain', 'Hello, World!');
            break;
        case '/json':
            $body = json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR);
            answer($request, 200, 'application/json', $body);
            break;
        case '/sleep':
            // Not before a timer's resolution, a millisecond in select() and in libev.
            $seconds = max(0.001, number($request->get('ms'), 0) / 1000);
            Timer::add($seconds, static fn () => answer($request, 200, 'text/plain', 'Hello, World!'), [], false);
            break;
        case '/work':
            answer($request, 200, 'text/plain', work(number($request->get('n'), 1000)));
            break;
        case '/echo':
            if ($request->method() === 'POST') {
                answer($request, 200, 'application/octet-stream', $request->rawBody());
                break;
            }
            // Falls through.
        default:
            answer($request, 404, 'text/plain', 'Not Found');
    }
}

Worker::$command = 'start';
// By default these are written beside this file and below vendor/.
Worker::$pidFile = "$run/workerman.pid";
Worker::$statusFile = "$run/workerman.status";
Worker::$logFile = "$run/workerman.log";

// The setting `as-made`: the library's own queue of connections, and a line for each request.
$asMade = getenv('AS_MADE') === 'yes';
$context = $asMade ? [] : ['socket' => ['backlog' => 65535]];
if ($cert !== null) {
    $context['ssl'] = ['local_cert' => $cert, 'local_pk' => $key, 'verify_peer' => false];
}
$server = new Worker("http://$address", $context);
$server->transport = $cert === null ? 'tcp' : 'ssl';
$server->count = (int) $workers;
$server->onMessage = !$asMade ? handle(...) : static function (TcpConnection $connection, Request $request): void {
    echo "A request for {$request->uri()}\n";
    handle($connection, $request);
};
$server->onWorkerStart = static function (): void {
    if (Worker::$globalEvent::class !== Worker::$eventLoopClass) {
        fwrite(STDERR, 'Not started: the loop is ' . Worker::$globalEvent::class . ".\n");
        posix_kill(posix_getppid(), SIGTERM);
    }
};
Worker::runAll();
