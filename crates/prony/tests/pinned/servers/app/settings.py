workers = {workers}
