defmodule Server do
  @moduledoc "The contract on Bandit; where it listens is in the environment."
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
      plug: Server.Contract,
      scheme: scheme,
      ip: address,
      port: "PORT" |> System.fetch_env!() |> String.to_integer(),
      startup_log: false,
      # A log line for each connection that a client breaks off would be measured, too.
      http_options: [log_protocol_errors: false],
      thousand_island_options: [
        # As long a queue as the kernel lets it be (somaxconn).
        transport_options: [backlog: 65535],
        # By default 16,384 for each acceptor.
        num_connections: :infinity
      ]
    ]

    Supervisor.start_link([{Bandit, options ++ tls}], strategy: :one_for_one)
  end
end
