// A shop's list of items over PostgreSQL: shop PORT, with DB_PORT in the environment.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type item struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Cents int    `json:"cents"`
}

func items(ctx context.Context, pool *pgxpool.Pool) ([]item, error) {
	rows, err := pool.Query(ctx, "SELECT id, name, cents FROM item JOIN price ON item = id ORDER BY id LIMIT 50")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[item])
}

func main() {
	pool, err := pgxpool.New(context.Background(),
		"host=127.0.0.1 port="+os.Getenv("DB_PORT")+" user=prony dbname=prony pool_max_conns=8")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		found, err := items(r.Context(), pool)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(found)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
