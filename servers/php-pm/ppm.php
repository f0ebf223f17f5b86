<?php

// PHP-PM's own program, after a look at what PHP it would run on.

declare(strict_types=1);

use Composer\InstalledVersions;

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/common.php';

$opt = (string) getenv('ASKED_OPT');
must_be('opt', $opt, opt());
if ($argv[1] === '--version') {
    echo 'PHP ', PHP_VERSION, ', php-pm ', InstalledVersions::getPrettyVersion('php-pm/php-pm'), ", opt $opt\n";
    exit;
}

require __DIR__ . '/vendor/php-pm/php-pm/bin/ppm';
