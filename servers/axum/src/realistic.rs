//! The routes whose services there are.

use std::env;
use std::error::Error;
use std::fmt::Write;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, Uri};
use axum::response::Html;
use axum::routing::get;
use axum::{Json, Router};
use deadpool_postgres::{Manager, Pool};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use tokio_postgres::{Config, NoTls, Row};

type Failure = (StatusCode, String);

pub fn routes(workers: usize) -> Result<Router, Box<dyn Error>> {
    let mut routes = Router::new();
    if let Ok(port) = env::var("DB_PORT") {
        let mut config = Config::new();
        config.host("127.0.0.1").port(port.parse()?).user("prony").dbname("prony");
        // DB_POOL is each worker's, and the workers of this process have one pool.
        let most = workers * env::var("DB_POOL")?.parse::<usize>()?;
        let pool = Pool::builder(Manager::new(config, NoTls)).max_size(most).build()?;
        let over = Router::new().route("/db", get(db)).route("/fortunes", get(fortunes)).with_state(pool);
        routes = routes.merge(over);
    }
    if let Ok(port) = env::var("UPSTREAM_PORT") {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let state = (client, format!("http://127.0.0.1:{port}/").parse()?);
        routes = routes.merge(Router::new().route("/upstream", get(upstream)).with_state(state));
    }
    Ok(routes)
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Serialize)]
struct Message {
    id: i32,
    message: String,
}

fn failed(why: impl ToString) -> Failure {
    (StatusCode::INTERNAL_SERVER_ERROR, why.to_string())
}

/// Of a statement that each connection prepares once.
async fn rows(pool: &Pool, sql: &str, id: Option<i32>) -> Result<Vec<Message>, Failure> {
    let client = pool.get().await.map_err(failed)?;
    let statement = client.prepare_cached(sql).await.map_err(failed)?;
    let rows = match &id {
        Some(id) => client.query(&statement, &[id]).await,
        None => client.query(&statement, &[]).await,
    };
    let message = |row: Row| Message { id: row.get(0), message: row.get(1) };
    Ok(rows.map_err(failed)?.into_iter().map(message).collect())
}

async fn db(State(pool): State<Pool>, Query(Id { id }): Query<Id>) -> Result<Json<Message>, Failure> {
    let id = id.parse::<i32>().ok().filter(|_| id.bytes().all(|b| b.is_ascii_digit()));
    let id = id.ok_or_else(|| (StatusCode::BAD_REQUEST, "id must be a number".to_owned()))?;
    let mut found = rows(&pool, "SELECT id, message FROM message WHERE id = $1", Some(id)).await?;
    found.pop().map(Json).ok_or_else(|| (StatusCode::NOT_FOUND, "Not Found".to_owned()))
}

async fn fortunes(State(pool): State<Pool>) -> Result<Html<String>, Failure> {
    let mut found = rows(&pool, "SELECT id, message FROM fortune", None).await?;
    found.push(Message { id: 0, message: "Added when the page was asked for.".to_owned() });
    found.sort_by(|a, b| a.message.cmp(&b.message));
    let mut page = "<!DOCTYPE html><title>Fortunes</title><table>".to_owned();
    for Message { id, message } in found {
        write!(page, "<tr><td>{id}</td><td>{}</td></tr>", escaped(&message)).map_err(failed)?;
    }
    page.push_str("</table>");
    Ok(Html(page))
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            _ => html.push(sign),
        }
    }
    html
}

async fn upstream(
    State((client, url)): State<(Client<HttpConnector, Body>, Uri)>,
) -> Result<(StatusCode, Bytes), Failure> {
    let bad_gateway = |why: String| (StatusCode::BAD_GATEWAY, why);
    let answer = client.get(url).await.map_err(|why| bad_gateway(why.to_string()))?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|why| bad_gateway(why.to_string()))?;
    Ok((status, body.to_bytes()))
}
