defmodule Server.Listener do
  @moduledoc "Maru's server, for the API."
  use Maru.Server, otp_app: :server, plug: Server.API
end
