defmodule Server do
  @moduledoc "The contract on Phoenix; where it listens, and by which adapter, is in the environment."
  use Application

  @impl true
  def start(_type, _arguments) do
    {:ok, address} = "HOST" |> System.fetch_env!() |> String.to_charlist() |> :inet.parse_address()

    {scheme, tls} =
      case System.fetch_env!("TLS_CERT") do
        "" -> {:http, []}
        cert -> {:https, [certfile: cert, keyfile: System.fetch_env!("TLS_KEY")]}
      end

    listen = [ip: address, port: "PORT" |> System.fetch_env!() |> String.to_integer()] ++ tls

    Application.put_env(
      :server,
      Server.Endpoint,
      [server: true, render_errors: [formats: [json: Server.Errors]]] ++
        adapter(System.fetch_env!("ADAPTER"), scheme, listen)
    )

    Supervisor.start_link([Server.Endpoint], strategy: :one_for_one)
  end

  defp adapter("cowboy", scheme, listen) do
    options = [
      # As long a queue as the kernel lets it be (somaxconn); by default 16,384 connections.
      transport_options: [max_connections: :infinity, socket_opts: [backlog: 65535]],
      # The default, 1000 requests, would close connections in the middle of a trial.
      protocol_options: [max_keepalive: :infinity]
    ]

    [{:adapter, Phoenix.Endpoint.Cowboy2Adapter}, {scheme, listen ++ options}]
  end

  defp adapter("bandit", scheme, listen) do
    options = [
      # A log line for each connection that a client breaks off would be measured, too.
      http_options: [log_protocol_errors: false],
      thousand_island_options: [transport_options: [backlog: 65535], num_connections: :infinity]
    ]

    [{:adapter, Bandit.PhoenixAdapter}, {scheme, listen ++ options}]
  end
end
