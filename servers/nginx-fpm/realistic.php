<?php

declare(strict_types=1);

function answer(int $status, string $type, string $body): void
{
    http_response_code($status);
    header('Content-Type: ' . $type);
    header('Content-Length: ' . strlen($body));
    echo $body;
}

/** Of the connection that a process keeps from request to request; it has one request at a time, and so no more of them. */
function rows(string $sql, array $parameters = []): array
{
    $db = new PDO('pgsql:host=127.0.0.1;dbname=prony;user=prony;port=' . getenv('DB_PORT'), null, null, [
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        // One round trip: a statement that ends with its request is not worth to be prepared.
        PDO::PGSQL_ATTR_DISABLE_PREPARES => true,
    ]);
    $statement = $db->prepare($sql);
    $statement->execute($parameters);

    return $statement->fetchAll(PDO::FETCH_ASSOC);
}

function db(): void
{
    $id = $_GET['id'] ?? '';
    if (!is_string($id) || !preg_match('/^\d{1,10}$/D', $id) || (int) $id > 2147483647) {
        answer(400, 'text/plain', 'id must be a number');
    } elseif ($rows = rows('SELECT id, message FROM message WHERE id = ?', [$id])) {
        answer(200, 'application/json', json_encode($rows[0], JSON_THROW_ON_ERROR));
    } else {
        answer(404, 'text/plain', 'Not Found');
    }
}

function fortunes(): void
{
    $rows = rows('SELECT id, message FROM fortune');
    $rows[] = ['id' => 0, 'message' => 'Added when the page was asked for.'];
    usort($rows, static function (array $a, array $b): int {
        return strcmp($a['message'], $b['message']);
    });
    $page = '';
    foreach ($rows as $row) {
        $page .= "<tr><td>{$row['id']}</td><td>" . htmlspecialchars($row['message'], ENT_QUOTES) . '</td></tr>';
    }
    answer(200, 'text/html; charset=utf-8', "<!DOCTYPE html><title>Fortunes</title><table>$page</table>");
}

function upstream(): void
{
    $body = file_get_contents('http://127.0.0.1:' . getenv('UPSTREAM_PORT') . '/');
    answer($body === false ? 502 : 200, 'text/plain', (string) $body);
}

$path = strtok($_SERVER['REQUEST_URI'], '?');

if ($path === '/upstream' && getenv('UPSTREAM_PORT')) {
    upstream();
} elseif ($path === '/db' && getenv('DB_PORT')) {
    db();
} elseif ($path === '/fortunes' && getenv('DB_PORT')) {
    fortunes();
} else {
    answer(404, 'text/plain', 'Not Found');
}
