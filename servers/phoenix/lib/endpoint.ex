defmodule Server.Endpoint do
  @moduledoc "The plugs of a new API application, without its session."
  use Phoenix.Endpoint, otp_app: :server

  plug(Plug.RequestId)
  plug(Plug.Telemetry, event_prefix: [:phoenix, :endpoint])
  plug(Plug.Parsers, parsers: [:urlencoded, :multipart, :json], pass: ["*/*"], json_decoder: Jason)
  plug(Plug.MethodOverride)
  plug(Plug.Head)
  plug(Server.Router)
end
