#!/bin/sh
# Starts Apache with this machine's mod_php, which Debian and Ubuntu name after its version: of several, the newest.
MOD_PHP=$(ls /etc/apache2/mods-available/php[0-9]*.load 2>/dev/null | sort -V | tail -n 1)
export MOD_PHP
if [ "$1" = --version ]; then
  package=libapache2-mod-$(basename "$MOD_PHP" .load)
  echo "$(apache2 -v | head -n 1), mod_php $(dpkg-query --show --showformat='${Version}' "$package")"
else
  exec apache2 "$@"
fi
