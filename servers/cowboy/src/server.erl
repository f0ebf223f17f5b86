%% The catalogue's Erlang server, on Cowboy 2: erl … -s server -extra HOST PORT [CERT KEY]
-module(server).
-behaviour(application).

-export([start/0, start/2, stop/1, init/2]).

start() ->
    {ok, _} = application:ensure_all_started(server, permanent).

start(_Type, _Arguments) ->
    [Host, Port | Files] = init:get_plain_arguments(),
    {Start, Tls} =
        case Files of
            [] -> {fun cowboy:start_clear/3, []};
            [Cert, Key] -> {fun cowboy:start_tls/3, [{certfile, Cert}, {keyfile, Key}]}
        end,
    {ok, Address} = inet:parse_address(Host),
    Paths = ["/", "/json", "/sleep", "/work", "/echo"],
    Dispatch = cowboy_router:compile([{'_', [{Path, ?MODULE, Path} || Path <- Paths]}]),
    Transport = #{
        socket_opts => [
            {ip, Address},
            {port, list_to_integer(Port)},
            %% As long a queue as the kernel lets it be (somaxconn).
            {backlog, 65535}
            | Tls
        ],
        %% The default, 1024, would leave the others waiting.
        max_connections => infinity
    },
    Protocol = #{
        env => #{dispatch => Dispatch},
        %% The default, 1000 requests, would close connections in the middle of a trial.
        max_keepalive => infinity
    },
    {ok, _} = Start(contract, Transport, Protocol).

stop(_State) ->
    ok.

init(Request, Path) ->
    {ok, handle(cowboy_req:method(Request), Path, Request), Path}.

handle(<<"GET">>, "/", Request) ->
    text(<<"Hello, World!">>, Request);
handle(<<"GET">>, "/json", Request) ->
    %% OTP has a JSON module from 27 on.
    Body = [<<"{\"message\":\"">>, <<"Hello, World!">>, <<"\"}">>],
    reply(200, <<"application/json">>, Body, Request);
handle(<<"GET">>, "/sleep", Request) ->
    timer:sleep(number(<<"ms">>, 0, Request)),
    text(<<"Hello, World!">>, Request);
handle(<<"GET">>, "/work", Request) ->
    text(integer_to_binary(work(number(<<"n">>, 1000, Request), 0)), Request);
handle(<<"POST">>, "/echo", Request0) ->
    {Body, Request} = body(Request0, []),
    reply(200, <<"application/octet-stream">>, Body, Request);
handle(_, _, Request) ->
    reply(405, <<"text/plain">>, <<"Method Not Allowed">>, Request).

reply(Status, Type, Body, Request) ->
    cowboy_req:reply(Status, #{<<"content-type">> => Type}, Body, Request).

text(Body, Request) ->
    reply(200, <<"text/plain">>, Body, Request).

body(Request0, Parts) ->
    case cowboy_req:read_body(Request0) of
        {ok, Part, Request} -> {lists:reverse([Part | Parts]), Request};
        {more, Part, Request} -> body(Request, [Part | Parts])
    end.

%% N steps of a linear congruential generator: pure arithmetic, the same in every language here.
work(0, X) -> X;
work(N, X) -> work(N - 1, (X * 1664525 + 1013904223) band 16#FFFFFFFF).

number(Key, Otherwise, Request) ->
    case string:to_integer(proplists:get_value(Key, cowboy_req:parse_qs(Request), <<>>)) of
        {N, <<>>} when is_integer(N), N >= 0 -> N;
        _ -> Otherwise
    end.
