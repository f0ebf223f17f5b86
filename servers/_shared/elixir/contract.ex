defmodule Server.Contract do
  @moduledoc "The contract as a Plug."
  import Plug.Conn

  def init(options), do: options

  def call(conn, _options), do: route(conn, conn.method, conn.request_path)

  defp route(conn, "GET", "/"), do: text(conn, "Hello, World!")
  defp route(conn, "GET", "/json"), do: reply(conn, "application/json", Jason.encode!(%{message: "Hello, World!"}))

  defp route(conn, "GET", "/sleep") do
    conn |> number("ms", 0) |> Process.sleep()
    text(conn, "Hello, World!")
  end

  defp route(conn, "GET", "/work"), do: text(conn, conn |> number("n", 1000) |> work(0) |> Integer.to_string())

  defp route(conn, "POST", "/echo") do
    {body, conn} = body(conn, [])
    reply(conn, "application/octet-stream", body)
  end

  defp route(conn, _method, _path), do: send_resp(conn, 404, "Not Found")

  defp text(conn, body), do: reply(conn, "text/plain", body)
  defp reply(conn, type, body), do: conn |> put_resp_content_type(type, nil) |> send_resp(200, body)

  defp body(conn, parts) do
    case read_body(conn) do
      {:ok, part, conn} -> {Enum.reverse([part | parts]), conn}
      {:more, part, conn} -> body(conn, [part | parts])
    end
  end

  # n steps of a linear congruential generator: pure arithmetic, the same in every language here.
  defp work(0, x), do: x
  defp work(n, x), do: work(n - 1, rem(x * 1_664_525 + 1_013_904_223, 0x100000000))

  defp number(conn, key, otherwise) do
    case Integer.parse(fetch_query_params(conn).query_params[key] || "") do
      {n, ""} when n >= 0 -> n
      _ -> otherwise
    end
  end
end
