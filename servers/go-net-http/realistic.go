package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"net/http"
	"os"
	"sort"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type message struct {
	ID      int32  `json:"id"`
	Message string `json:"message"`
}

var page = template.Must(template.New("").Parse(`<!DOCTYPE html><title>Fortunes</title><table>` +
	`{{range .}}<tr><td>{{.ID}}</td><td>{{.Message}}</td></tr>{{end}}</table>`))

// realistic gives the routes whose services there are: none without any.
func realistic(workers int) map[string]http.HandlerFunc {
	routes := map[string]http.HandlerFunc{}
	if port := os.Getenv("DB_PORT"); port != "" {
		// DB_POOL is each worker's, and the workers of this process have one pool.
		each, err := strconv.Atoi(os.Getenv("DB_POOL"))
		if err != nil {
			log.Fatal("DB_POOL: ", err)
		}
		url := fmt.Sprintf("postgres://prony@127.0.0.1:%s/prony?sslmode=disable&pool_max_conns=%d", port, each*workers)
		pool, err := pgxpool.New(context.Background(), url)
		if err != nil {
			log.Fatal(err)
		}
		routes["/db"] = func(w http.ResponseWriter, r *http.Request) { db(pool, w, r) }
		routes["/fortunes"] = func(w http.ResponseWriter, r *http.Request) { fortunes(pool, w, r) }
	}
	if port := os.Getenv("UPSTREAM_PORT"); port != "" {
		// By default it keeps two connections and opens one for each request beyond.
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 1024
		client := &http.Client{Transport: transport}
		routes["/upstream"] = func(w http.ResponseWriter, r *http.Request) {
			upstream(client, "http://127.0.0.1:"+port+"/", w, r)
		}
	}
	return routes
}

func db(pool *pgxpool.Pool, w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.URL.Query().Get("id"), 10, 31)
	if err != nil {
		http.Error(w, "id must be a number", http.StatusBadRequest)
		return
	}
	var found message
	row := pool.QueryRow(r.Context(), "SELECT id, message FROM message WHERE id = $1", int32(id))
	if err := row.Scan(&found.ID, &found.Message); errors.Is(err, pgx.ErrNoRows) {
		http.NotFound(w, r)
		return
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := json.Marshal(found)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

func fortunes(pool *pgxpool.Pool, w http.ResponseWriter, r *http.Request) {
	rows, err := pool.Query(r.Context(), "SELECT id, message FROM fortune")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[message])
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	all = append(all, message{0, "Added when the page was asked for."})
	sort.Slice(all, func(i, j int) bool { return all[i].Message < all[j].Message })
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := page.Execute(w, all); err != nil {
		log.Print(err)
	}
}

func upstream(client *http.Client, url string, w http.ResponseWriter, r *http.Request) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer, err := client.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(body)
}
