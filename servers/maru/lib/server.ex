defmodule Server do
  @moduledoc "The contract on Maru and Cowboy 2; where it listens is in the environment."
  use Application

  @impl true
  def start(_type, _arguments) do
    {:ok, address} = "HOST" |> System.fetch_env!() |> String.to_charlist() |> :inet.parse_address()

    {scheme, tls} =
      case System.fetch_env!("TLS_CERT") do
        "" -> {:http, []}
        cert -> {:https, [certfile: cert, keyfile: System.fetch_env!("TLS_KEY")]}
      end

    options = [
      scheme: scheme,
      ip: address,
      port: "PORT" |> System.fetch_env!() |> String.to_integer(),
      # As long a queue as the kernel lets it be (somaxconn); by default 16,384 connections.
      transport_options: [max_connections: :infinity, socket_opts: [backlog: 65535]],
      # The default, 1000 requests, would close connections in the middle of a trial.
      protocol_options: [max_keepalive: :infinity]
    ]

    Supervisor.start_link([{Server.Listener, options ++ tls}], strategy: :one_for_one)
  end
end
