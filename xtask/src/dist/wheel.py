"""Writes a wheel of a tree of files: wheel.py TREE OUT VERSION MACHINE ADDRESS EPOCH.

TREE/bin goes where `prony` is found (scripts), TREE/share to share/ of the environment. The same tree gives the same bytes.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile

tree, out, version, machine, address, epoch = sys.argv[1:7]
stamp = time.gmtime(max(int(epoch), 315532800))[:6]  # zip's years begin with 1980
tag = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"
info = f"prony-{version}.dist-info"

files = []
for folder, _, names in os.walk(tree):
    for name in names:
        path = os.path.join(folder, name)
        part = os.path.relpath(path, tree)
        place = "scripts/" + part[len("bin/") :] if part.startswith("bin/") else "data/" + part
        with open(path, "rb") as file:
            files.append((f"prony-{version}.data/{place}", file.read(), os.access(path, os.X_OK)))
with open(os.path.join(os.path.dirname(__file__), "../../../README.md"), encoding="utf-8") as file:
    readme = file.read()
metadata = f"""Metadata-Version: 2.1
Name: prony
Version: {version}
Summary: Load-tests HTTP servers and compares them, with confidence intervals
License: MIT OR Apache-2.0
Project-URL: Source, {address}
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{readme}"""
tags = "".join(f"Tag: py3-none-{platform}\n" for platform in tag.split("-")[2].split("."))
wheel = f"Wheel-Version: 1.0\nGenerator: prony-xtask\nRoot-Is-Purelib: false\n{tags}"
files.sort()
files += [(f"{info}/METADATA", metadata.encode(), False), (f"{info}/WHEEL", wheel.encode(), False)]


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in files)
files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), False))
path = os.path.join(out, f"prony-{version}-{tag}.whl")
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name, data, executable in files:
        entry = zipfile.ZipInfo(name, stamp)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        archive.writestr(entry, data)
