<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use React\EventLoop\Loop;
use React\Http\Browser;
use React\Http\Message\Response;
use React\Promise\Deferred;
use React\Promise\PromiseInterface;

// PHP's own driver, whose queries need not be waited for. No other route loads it.
extension_loaded('pgsql') || getenv('DB_PORT') === false || dl('pgsql');

/** Connections to PostgreSQL: a query waits in the loop for one that is free, and for its rows. */
final class Connections
{
    /** @var list<PgSql\Connection> */
    private array $free = [];
    /** @var SplQueue<Closure(PgSql\Connection): void> */
    private SplQueue $waiting;
    private int $made = 0;

    public function __construct(private int $most)
    {
        $this->waiting = new SplQueue();
    }

    /** @return PromiseInterface<list<array{id: string, message: string}>> */
    public function rows(string $sql, array $parameters = []): PromiseInterface
    {
        $deferred = new Deferred();
        $ask = function (PgSql\Connection $connection) use ($sql, $parameters, $deferred): void {
            pg_send_query_params($connection, $sql, $parameters);
            $socket = pg_socket($connection);
            Loop::addReadStream($socket, function () use ($connection, $socket, $deferred): void {
                $is_up = pg_consume_input($connection);
                if ($is_up && pg_connection_busy($connection)) {
                    return;
                }
                Loop::removeReadStream($socket);
                $result = $is_up ? pg_get_result($connection) : false;
                $is_right = $result !== false && pg_result_status($result) === PGSQL_TUPLES_OK;
                // The end of the query is a result, too.
                while ($is_up && pg_get_result($connection) !== false);
                $this->release($connection);
                if ($is_right) {
                    $deferred->resolve(pg_fetch_all($result));
                } else {
                    $deferred->reject(new RuntimeException('PostgreSQL: ' . pg_last_error($connection)));
                }
            });
        };
        if ($this->free !== []) {
            $ask(array_pop($this->free));
        } elseif ($this->made < $this->most) {
            $made = pg_connect('host=127.0.0.1 user=prony dbname=prony port=' . getenv('DB_PORT'), PGSQL_CONNECT_FORCE_NEW);
            if ($made === false) {
                $deferred->reject(new RuntimeException('PostgreSQL: no connection'));
            } else {
                $this->made++;
                $ask($made);
            }
        } else {
            $this->waiting->enqueue($ask);
        }

        return $deferred->promise();
    }

    private function release(PgSql\Connection $connection): void
    {
        if ($this->waiting->isEmpty()) {
            $this->free[] = $connection;
        } else {
            ($this->waiting->dequeue())($connection);
        }
    }
}

function db(Connections $connections, ServerRequestInterface $request): ResponseInterface|PromiseInterface
{
    $id = $request->getQueryParams()['id'] ?? '';
    if (!is_string($id) || !preg_match('/^\d{1,10}$/D', $id) || (int) $id > 2147483647) {
        return answer(400, 'text/plain', 'id must be a number');
    }

    return $connections->rows('SELECT id, message FROM message WHERE id = $1', [$id])->then(
        static fn (array $rows): ResponseInterface => $rows === []
            ? answer(404, 'text/plain', 'Not Found')
            : answer(200, 'application/json', json_encode(['id' => (int) $rows[0]['id']] + $rows[0], JSON_THROW_ON_ERROR))
    );
}

function fortunes(Connections $connections): PromiseInterface
{
    return $connections->rows('SELECT id, message FROM fortune')->then(static function (array $rows): Response {
        $rows[] = ['id' => 0, 'message' => 'Added when the page was asked for.'];
        usort($rows, static fn (array $a, array $b): int => strcmp($a['message'], $b['message']));
        $page = '';
        foreach ($rows as $row) {
            $page .= "<tr><td>{$row['id']}</td><td>" . htmlspecialchars($row['message'], ENT_QUOTES) . '</td></tr>';
        }

        return answer(200, 'text/html; charset=utf-8', "<!DOCTYPE html><title>Fortunes</title><table>$page</table>");
    });
}

/** What a route answers whose service there is. */
function realistic(ServerRequestInterface $request): ResponseInterface|PromiseInterface
{
    static $connections, $browser;
    $connections ??= new Connections((int) getenv('DB_POOL') ?: 1);
    $browser ??= new Browser();
    $path = $request->getUri()->getPath();

    return match (true) {
        $path === '/upstream' && getenv('UPSTREAM_PORT') !== false => $browser
            ->get('http://127.0.0.1:' . getenv('UPSTREAM_PORT') . '/')
            ->then(static fn (ResponseInterface $answer) => answer(200, 'text/plain', (string) $answer->getBody())),
        $path === '/db' && getenv('DB_PORT') !== false => db($connections, $request),
        $path === '/fortunes' && getenv('DB_PORT') !== false => fortunes($connections),
        default => answer(404, 'text/plain', 'Not Found'),
    };
}
