defmodule Server.API do
  @moduledoc "The contract in Maru's words."
  use Server.Listener

  plug(Plug.Parsers, parsers: [:urlencoded, :json, :multipart], pass: ["*/*"], json_decoder: Jason)

  get do
    text(conn, "Hello, World!")
  end

  namespace :json do
    get do
      json(conn, %{message: "Hello, World!"})
    end
  end

  namespace :sleep do
    params do
      optional(:ms, type: Integer, default: 0)
    end

    get do
      Process.sleep(params.ms)
      text(conn, "Hello, World!")
    end
  end

  namespace :work do
    params do
      optional(:n, type: Integer, default: 1000)
    end

    get do
      text(conn, Server.Work.steps(params.n, 0))
    end
  end

  namespace :echo do
    post do
      {body, conn} = Server.Work.body(conn, [])
      conn |> put_resp_content_type("application/octet-stream", nil) |> send_resp(200, body) |> halt()
    end
  end

  rescue_from Maru.Exceptions.NotFound do
    conn |> put_status(404) |> text("Not Found")
  end
end
