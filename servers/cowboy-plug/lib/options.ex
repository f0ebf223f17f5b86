defmodule Server.Options do
  @moduledoc "Cowboy 2's options: the defaults, without its limits."

  def of(address, port, tls) do
    [
      port: port,
      ip: address,
      # As long a queue as the kernel lets it be (somaxconn); by default 1,024.
      transport_options: [max_connections: :infinity, socket_opts: [backlog: 65535]],
      # The default, 1000 requests, would close connections in the middle of a trial.
      protocol_options: [max_keepalive: :infinity]
    ] ++ tls
  end
end
