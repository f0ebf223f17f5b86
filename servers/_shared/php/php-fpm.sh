#!/bin/sh
# Starts this machine's php-fpm. Debian and Ubuntu name it after its version, php-fpm8.2: of several, the newest.
program=$(command -v php-fpm || ls /usr/sbin/php-fpm[0-9]* 2>/dev/null | sort -V | tail -n 1)
exec "${program:-php-fpm}" "$@"
