"""Flask's own server, without its line per request."""

import logging
import sys

from app import app

logging.getLogger("werkzeug").setLevel(logging.ERROR)
# With TLS a certificate and its key are named, too.
host, port, *tls_files = sys.argv[1:]
# A thread per connection, as `flask run` has it.
app.run(host, int(port), threaded=True, debug=False, ssl_context=tuple(tls_files) or None)
