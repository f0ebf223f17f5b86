defmodule Server.Options do
  @moduledoc "Cowboy 1's options: the defaults, without its limits. Its TLS wants an Erlang/OTP before 24."

  def of(address, port, []) do
    [
      port: port,
      ip: address,
      # As long a queue as the kernel lets it be (somaxconn); by default 1,024.
      backlog: 65535,
      max_connections: :infinity,
      # The default, 100 requests, would close connections in the middle of a trial.
      protocol_options: [max_keepalive: :infinity]
    ]
  end
end
