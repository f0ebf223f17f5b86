<?php

declare(strict_types=1);

use Swow\Coroutine;
use Swow\Http\Protocol\ProtocolException;
use Swow\Psr7\Message\Response;
use Swow\Psr7\Server\Server;
use Swow\Psr7\Server\ServerConnection;
use Swow\SocketException;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/contract.php';

// With TLS a certificate and its key are named, too.
[, $host, $port, $opt, $cert, $key] = $argv + [4 => null, 5 => null];
check_settings($opt);
// The setting `as-made`: the extension's own queue of connections, and a line for each request.
define('AS_MADE', getenv('AS_MADE') === 'yes');

function serve(ServerConnection $connection, ?array $tls): void
{
    try {
        if ($tls !== null) {
            $connection->enableCrypto($tls);
        }
        do {
            $request = $connection->recvHttpRequest();
            $uri = $request->getUri();
            if (AS_MADE) {
                echo "A request for $uri\n";
            }
            [$status, $type, $body] = answer(
                $request->getMethod(),
                $uri->getPath(),
                $uri->getQuery(),
                (string) $request->getBody(),
            );
            $response = new Response();
            $response->setStatus($status);
            $response->setHeader('Content-Type', $type);
            if (!$connection->shouldKeepAlive()) {
                $response->setHeader('Connection', 'close');
            }
            $response->getBody()->write($body);
            $connection->sendHttpResponse($response);
        } while ($connection->shouldKeepAlive());
    } catch (ProtocolException $exception) {
        $connection->error($exception->getCode(), $exception->getMessage(), close: true);
    } catch (SocketException) {
        // The client has closed the connection: that is how one ends.
    } finally {
        $connection->close();
    }
}

$tls = $cert === null ? null : ['certificate' => $cert, 'certificate_key' => $key];
$server = new Server();
// As long a queue as the kernel lets it be (somaxconn), or the extension's own.
$server->bind($host, (int) $port)->listen(...(AS_MADE ? [] : [65535]));
while (true) {
    $connection = $server->acceptConnection();
    Coroutine::run(serve(...), $connection, $tls);
}
