"""Flask's own server, without its line per request."""

import logging
import sys

from app import app

logging.getLogger("werkzeug").setLevel(logging.ERROR)
host, port = sys.argv[1:]
# A thread per connection, as `flask run` has it.
app.run(host, int(port), threaded=True, debug=False)
