<?php

declare(strict_types=1);

use Composer\InstalledVersions;
use React\EventLoop\ExtEventLoop;
use React\EventLoop\ExtEvLoop;
use React\EventLoop\ExtUvLoop;
use React\EventLoop\Loop;
use React\EventLoop\StreamSelectLoop;
use React\Socket\ConnectionInterface;
use React\Socket\SocketServer;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

// With TLS a certificate and its key are named, too.
[, $address, $loop, $opt, $cert, $key] = $argv + [4 => null, 5 => null];

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
    echo 'PHP ', PHP_VERSION, ", react/socket {$of('react/socket')}, ",
        "react/event-loop {$of('react/event-loop')}, loop $loop, opt $opt\n";
    exit;
}

const PAGE = '<!DOCTYPE html><html><head><title>Hello</title></head><body><h1>Hello, World!</h1></body></html>';

$answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: " . strlen(PAGE)
    . "\r\nConnection: close\r\n\r\n" . PAGE;

// The setting `as-made`: the library's own queue of connections, and an answer to the first bytes that come.
$asMade = getenv('AS_MADE') === 'yes';
$tls = ['local_cert' => $cert, 'local_pk' => $key];
// As long a queue as the kernel lets it be (somaxconn); 511 is its own default.
$tcp = $asMade ? [] : ['backlog' => 65535];
$server = new SocketServer($cert === null ? $address : "tls://$address", ['tcp' => $tcp, 'tls' => $tls]);
$server->on('error', static fn (Throwable $error) => fwrite(STDERR, $error . "\n"));
$server->on('connection', static function (ConnectionInterface $connection) use ($answer, $asMade): void {
    if ($asMade) {
        $connection->once('data', static fn () => $connection->end($answer));

        return;
    }
    $head = '';
    // No HTTP but this: the head is read to its end, since a close with unread bytes is a reset, which can
    // overtake the answer.
    $connection->on('data', static function (string $data) use ($connection, $answer, &$head): void {
        $head = substr($head, -3) . $data;
        if (str_contains($head, "\r\n\r\n")) {
            $connection->end($answer);
        }
    });
});
