defmodule Server do
  @moduledoc "The contract on Plug and Cowboy; where it listens is in the environment. Shared with v1/."
  use Application

  @impl true
  def start(_type, _arguments) do
    {:ok, address} = "HOST" |> System.fetch_env!() |> String.to_charlist() |> :inet.parse_address()
    port = "PORT" |> System.fetch_env!() |> String.to_integer()
    cowboy = {Plug.Cowboy, scheme: :http, plug: Server.Contract, options: Server.Options.of(address, port)}
    Supervisor.start_link([cowboy], strategy: :one_for_one)
  end
end
