package pgtest
import ("testing";"time";"context";"github.com/jackc/pgx/v5";"sort";"os")
func TestZZ(t *testing.T){
 s,err:=server(); if err!=nil{t.Fatal(err)}
 c,_:=pgx.Connect(t.Context(), s.config.URL())
 ctx:=context.Background()
 for _, strat := range []string{"wal_log","file_copy"} {
 var cr,dr []float64
 for i:=0;i<60;i++{
  b:=time.Now(); if _,err:=c.Exec(ctx,"create database zz template template1 strategy "+strat);err!=nil{t.Fatal(err)}; cr=append(cr,float64(time.Since(b).Microseconds())/1000)
  b=time.Now(); if _,err:=c.Exec(ctx,"drop database zz");err!=nil{t.Fatal(err)}; dr=append(dr,float64(time.Since(b).Microseconds())/1000)
 }
 sort.Float64s(cr);sort.Float64s(dr)
 t.Logf("%s create median %.1f min %.1f drop median %.1f min %.1f", strat, cr[30],cr[0],dr[30],dr[0])
 }
 var cn []float64
 for i:=0;i<60;i++{ b:=time.Now(); x,_:=pgx.Connect(ctx,s.config.URL()); cn=append(cn,float64(time.Since(b).Microseconds())/1000); x.Close(ctx)}
 sort.Float64s(cn); t.Logf("connect median %.1f min %.1f",cn[30],cn[0])
 _ = os.Args
 var nw []float64
 for i:=0;i<60;i++{ t.Run("x",func(t *testing.T){b:=time.Now(); p:=New(t); p.Ping(ctx); nw=append(nw,float64(time.Since(b).Microseconds())/1000)})}
 sort.Float64s(nw); t.Logf("New median %.1f min %.1f",nw[30],nw[0])
}
