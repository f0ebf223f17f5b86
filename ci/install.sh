#!/bin/sh
# Puts a release of Prony into a folder (FOLDER/bin/prony), its checksum checked: install.sh RELEASES VERSION FOLDER
set -eu
releases=$1 version=${2#v} folder=$3
case $version in
  [0-9]*.[0-9]*.[0-9]*) ;;
  *) echo "\"$2\" is no version of Prony: write one such as 0.1.0." >&2; exit 2 ;;
esac
name=prony-$version-$(uname -m)-linux.tar.gz
mkdir -p "$folder"
for file in "$name" SHA256SUMS; do
  curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$releases/v$version/$file"
done
cd "$folder"
grep " [ *]*$name\$" SHA256SUMS | sha256sum --check --quiet -
tar --extract --file "$name" --strip-components=1
rm "$name" SHA256SUMS
bin/prony --version
