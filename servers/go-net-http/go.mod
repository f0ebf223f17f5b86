module prony.invalid/go-net-http

go 1.19
