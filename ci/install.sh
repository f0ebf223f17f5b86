#!/bin/sh
# Puts a release of Prony into a folder (FOLDER/bin/prony), its checksum checked: install.sh RELEASES VERSION FOLDER [SHA256]
# SHA256 is that of the release's SHA256SUMS: without it, who can replace the archive can replace its checksum, too.
# A commit as VERSION stands for the version that the files beside this one are of.
set -eu
releases=$1 version=${2#v} folder=$3 sha256=${4:-}
if printf '%s' "$version" | grep -Eqx '[0-9a-f]{40}'; then
  version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml" | head -n 1)
fi
case $version in
  [0-9]*.[0-9]*.[0-9]*) ;;
  *) echo "\"$2\" is no version of Prony, nor a commit of it whose files are here: write a version such as 0.1.0." >&2; exit 2 ;;
esac
name=prony-$version-$(uname -m)-linux.tar.gz
mkdir -p "$folder"
for file in "$name" SHA256SUMS; do
  curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$releases/v$version/$file" || {
    echo "$releases has no $file of version $version: name a released one." >&2
    exit 3
  }
done
cd "$folder"
if [ -n "$sha256" ]; then
  echo "$sha256  SHA256SUMS" | sha256sum --check --quiet -
fi
grep " [ *]*$name\$" SHA256SUMS | sha256sum --check --quiet -
tar --extract --file "$name" --strip-components=1
rm "$name" SHA256SUMS
bin/prony --version
