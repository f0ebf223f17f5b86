<?php

declare(strict_types=1);

use Composer\InstalledVersions;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Psr\Http\Message\ServerRequestInterface;
use Spiral\RoadRunner\Http\PSR7Worker;
use Spiral\RoadRunner\Worker;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

[, $mode, $opt] = $argv;

must_be('opt', $opt, opt());
if ($mode === '--version') {
    $of = InstalledVersions::getPrettyVersion(...);
    echo 'PHP ', PHP_VERSION, ", spiral/roadrunner-http {$of('spiral/roadrunner-http')}, ",
        "nyholm/psr7 {$of('nyholm/psr7')}, opt $opt\n";
    exit;
}

function answer(int $status, string $type, string $body): Response
{
    // Its length named: RoadRunner would send chunks.
    return new Response($status, ['Content-Type' => $type, 'Content-Length' => (string) strlen($body)], $body);
}

function handle(ServerRequestInterface $request): Response
{
    $query = static fn (string $key) => $request->getQueryParams()[$key] ?? null;
    switch ($request->getUri()->getPath()) {
        case '/':
            return answer(200, 'text/plain', 'Hello, World!');
        case '/json':
            return answer(200, 'application/json', json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR));
        case '/sleep':
            usleep(1000 * number($query('ms'), 0));

            return answer(200, 'text/plain', 'Hello, World!');
        case '/work':
            return answer(200, 'text/plain', work(number($query('n'), 1000)));
        case '/echo':
            if ($request->getMethod() === 'POST') {
                return answer(200, 'application/octet-stream', (string) $request->getBody());
            }
    }

    return answer(404, 'text/plain', 'Not Found');
}

$factory = new Psr17Factory();
$worker = new PSR7Worker(Worker::create(), $factory, $factory, $factory);
while ($request = $worker->waitRequest()) {
    try {
        $worker->respond(handle($request));
    } catch (Throwable $error) {
        $worker->getWorker()->error((string) $error);
    }
}
