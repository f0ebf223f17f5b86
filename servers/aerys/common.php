<?php

declare(strict_types=1);

/** What this PHP runs with, in the words of the recipe's axis `opt`. */
function opt(): string
{
    $found = [];
    $opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
    if ($opcache !== false && opcache_is_script_cached(__FILE__)) {
        $found[] = 'opcache';
    }
    if (extension_loaded('xdebug')) {
        // XDEBUG_MODE in the environment wins over the setting.
        $mode = getenv('XDEBUG_MODE') ?: ini_get('xdebug.mode');
        $found[] = $mode === 'off' ? 'xdebug-off' : 'xdebug-on';
    }

    return $found === [] ? 'none' : implode('+', $found);
}

/** A label must not lie: what was asked for and what is there are the same, or nothing starts. */
function must_be(string $axis, string $asked, string $found)
{
    if ($asked !== $found) {
        file_put_contents('php://stderr', "Not started: asked for $axis=$asked, but this PHP has $axis=$found.\n");
        exit(1);
    }
}

/** `$n` steps of a linear congruential generator: pure arithmetic, the same in every language here. */
function work(int $n): string
{
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x = ($x * 1664525 + 1013904223) & 0xFFFFFFFF;
    }

    return (string) $x;
}

function number($value, int $otherwise): int
{
    return is_string($value) && preg_match('/^\d{1,18}$/D', $value) ? (int) $value : $otherwise;
}
