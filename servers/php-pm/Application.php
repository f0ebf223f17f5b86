<?php

declare(strict_types=1);

use PHPPM\Bridges\BridgeInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use React\Http\Message\Response;

/** What PHP-PM calls a bridge: the application, as each of its worker processes has it. */
final class Application implements BridgeInterface
{
    public function bootstrap($appBootstrap, $appenv, $debug): void
    {
        require_once __DIR__ . '/common.php';
        must_be('opt', (string) getenv('ASKED_OPT'), opt());
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $query = static fn (string $key) => $request->getQueryParams()[$key] ?? null;
        switch ($request->getUri()->getPath()) {
            case '/':
                return $this->answer(200, 'text/plain', 'Hello, World!');
            case '/json':
                $body = json_encode(['message' => 'Hello, World!'], JSON_THROW_ON_ERROR);

                return $this->answer(200, 'application/json', $body);
            case '/sleep':
                usleep(1000 * number($query('ms'), 0));

                return $this->answer(200, 'text/plain', 'Hello, World!');
            case '/work':
                return $this->answer(200, 'text/plain', work(number($query('n'), 1000)));
            case '/echo':
                if ($request->getMethod() === 'POST') {
                    return $this->answer(200, 'application/octet-stream', (string) $request->getBody());
                }
        }

        return $this->answer(404, 'text/plain', 'Not Found');
    }

    private function answer(int $status, string $type, string $body): ResponseInterface
    {
        return new Response($status, ['Content-Type' => $type], $body);
    }
}
