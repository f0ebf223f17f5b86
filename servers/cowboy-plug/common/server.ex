defmodule Server do
  @moduledoc "The contract on Plug and Cowboy; where it listens is in the environment. Shared with v1/."
  use Application

  @impl true
  def start(_type, _arguments) do
    {:ok, address} = "HOST" |> System.fetch_env!() |> String.to_charlist() |> :inet.parse_address()
    port = "PORT" |> System.fetch_env!() |> String.to_integer()

    {scheme, tls} =
      case System.fetch_env!("TLS_CERT") do
        "" -> {:http, []}
        cert -> {:https, [certfile: cert, keyfile: System.fetch_env!("TLS_KEY")]}
      end

    cowboy = {Plug.Cowboy, scheme: scheme, plug: Server.Contract, options: Server.Options.of(address, port, tls)}
    Supervisor.start_link([cowboy], strategy: :one_for_one)
  end
end
