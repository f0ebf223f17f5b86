<?php

declare(strict_types=1);

use OpenSwoole\Coroutine\Channel;
use OpenSwoole\Coroutine\Http\Client;
use OpenSwoole\Coroutine\PostgreSQL;
use OpenSwoole\Http\Request;

/** A worker's connections to PostgreSQL, each with its prepared statements; a coroutine waits until one is free. */
final class Connections
{
    private Channel $free;
    private int $made = 0;

    public function __construct(private int $most)
    {
        $this->free = new Channel($most);
    }

    /** @return list<array{id: int, message: string}> */
    public function rows(string $sql, array $parameters = []): array
    {
        if ($this->free->isEmpty() && $this->made < $this->most) {
            $this->made++;
            $connection = [new PostgreSQL(), []];
            $connection[0]->connect('host=127.0.0.1 user=prony dbname=prony port=' . getenv('DB_PORT'));
        } else {
            $connection = $this->free->pop();
        }
        try {
            $statement = $connection[1][$sql] ?? $connection[0]->prepare($sql);
            if ($statement === false || !$statement->execute($parameters)) {
                throw new RuntimeException('PostgreSQL: ' . $connection[0]->error);
            }
            $connection[1][$sql] = $statement;

            return $statement->fetchAll() ?: [];
        } finally {
            $this->free->push($connection);
        }
    }
}

/** @return array{int, string, string} Status, type and body. */
function db(Connections $connections, Request $request): array
{
    $id = $request->get['id'] ?? '';
    if (!is_string($id) || !preg_match('/^\d{1,10}$/D', $id) || (int) $id > 2147483647) {
        return [400, 'text/plain', 'id must be a number'];
    }
    $rows = $connections->rows('SELECT id, message FROM message WHERE id = $1', [$id]);
    if ($rows === []) {
        return [404, 'text/plain', 'Not Found'];
    }

    return [200, 'application/json', json_encode($rows[0], JSON_THROW_ON_ERROR)];
}

function fortunes(Connections $connections): array
{
    $rows = $connections->rows('SELECT id, message FROM fortune');
    $rows[] = ['id' => 0, 'message' => 'Added when the page was asked for.'];
    usort($rows, static fn (array $a, array $b): int => strcmp($a['message'], $b['message']));
    $page = '';
    foreach ($rows as $row) {
        $page .= "<tr><td>{$row['id']}</td><td>" . htmlspecialchars($row['message'], ENT_QUOTES) . '</td></tr>';
    }

    return [200, 'text/html; charset=utf-8', "<!DOCTYPE html><title>Fortunes</title><table>$page</table>"];
}

function upstream(): array
{
    $client = new Client('127.0.0.1', (int) getenv('UPSTREAM_PORT'));
    $client->get('/');
    $answer = [$client->statusCode > 0 ? $client->statusCode : 502, 'text/plain', (string) $client->body];
    $client->close();

    return $answer;
}

/** What a route answers whose service there is. */
function realistic(string $path, Request $request): array
{
    static $connections;
    $connections ??= new Connections((int) getenv('DB_POOL') ?: 1);
    try {
        return match (true) {
            $path === '/upstream' && getenv('UPSTREAM_PORT') !== false => upstream(),
            $path === '/db' && getenv('DB_PORT') !== false => db($connections, $request),
            $path === '/fortunes' && getenv('DB_PORT') !== false => fortunes($connections),
            default => [404, 'text/plain', 'Not Found'],
        };
    } catch (RuntimeException $error) {
        return [500, 'text/plain', $error->getMessage()];
    }
}
