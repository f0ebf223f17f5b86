<?php

declare(strict_types=1);

use Swow\Coroutine;
use Swow\Socket;
use Swow\SocketException;

require __DIR__ . '/contract.php';

// With TLS a certificate and its key are named, too.
[, $host, $port, $opt, $cert, $key] = $argv + [4 => null, 5 => null];
check_settings($opt);
if (getenv('AS_MADE') === 'yes') {
    fwrite(STDERR, "The setting as-made is of api=psr7.\n");
    exit(1);
}

const PHRASES = [200 => 'OK', 404 => 'Not Found'];

/** Reads requests as they come and answers them: as much of HTTP as the contract needs, and no library. */
function serve(Socket $connection): void
{
    $input = '';
    while (true) {
        while (($end = strpos($input, "\r\n\r\n")) === false) {
            $input .= $connection->recvStringData();
        }
        $head = substr($input, 0, $end);
        [$method, $target] = explode(' ', $head, 3);
        $length = preg_match('/^content-length: *(\d+)/mi', $head, $found) === 1 ? (int) $found[1] : 0;
        $next = $end + 4 + $length;
        while (strlen($input) < $next) {
            $input .= $connection->recvStringData();
        }
        [$path, $query] = explode('?', $target, 2) + [1 => ''];
        [$status, $type, $body] = answer($method, $path, $query, substr($input, $end + 4, $length));
        $close = preg_match('/^connection: *close/mi', $head) === 1;
        $connection->send(
            "HTTP/1.1 $status " . PHRASES[$status] . "\r\n" .
            'Connection: ' . ($close ? 'close' : 'keep-alive') . "\r\n" .
            "Content-Type: $type\r\n" .
            'Content-Length: ' . strlen($body) . "\r\n\r\n" .
            $body
        );
        if ($close) {
            return;
        }
        $input = substr($input, $next);
    }
}

$tls = $cert === null ? null : ['certificate' => $cert, 'certificate_key' => $key];
$server = new Socket(Socket::TYPE_TCP);
// As long a queue as the kernel lets it be (somaxconn).
$server->bind($host, (int) $port)->listen(65535);
while (true) {
    $connection = $server->accept();
    Coroutine::run(static function () use ($connection, $tls): void {
        try {
            if ($tls !== null) {
                $connection->enableCrypto($tls);
            }
            serve($connection);
        } catch (SocketException) {
            // The client has closed the connection: that is how one ends.
        } finally {
            $connection->close();
        }
    });
}
