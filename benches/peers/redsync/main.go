// redsync's side: `redsync-peer <runtime> <tasks> <url>…`, then a block for each line of stdin.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	goredispool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
)

// As long as palisade's.
const lease = 30 * time.Second

func main() {
	if len(os.Args) < 5 {
		fail("<runtime> <tasks> <url>…")
	}
	if os.Args[1] == "current-thread" {
		runtime.GOMAXPROCS(1)
	}
	tasks, err := strconv.Atoi(os.Args[2])
	check(err)
	locks := redsync.New(pools(os.Args[4:])...)
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		length, err := strconv.Atoi(lines.Text())
		check(err)
		fmt.Println(block(locks, tasks, time.Duration(length)*time.Millisecond))
	}
}

func pools(urls []string) []redis.Pool {
	var pools []redis.Pool
	for _, url := range urls {
		options, err := goredis.ParseURL(url)
		check(err)
		pools = append(pools, goredispool.NewPool(goredis.NewClient(options)))
	}
	return pools
}

// What a block is told as: µs that it took, µs of CPU time, pairs of each task, µs of each pair.
func block(locks *redsync.Redsync, tasks int, length time.Duration) string {
	micros := make([][]string, tasks)
	var all sync.WaitGroup
	cpu, began := cpuTime(), time.Now()
	until := began.Add(length)
	for task := range micros {
		all.Add(1)
		go func() {
			defer all.Done()
			micros[task] = repeat(locks, task, until)
		}()
	}
	all.Wait()
	took, used := time.Since(began), cpuTime()-cpu
	var byTask, each []string
	for _, of := range micros {
		byTask = append(byTask, strconv.Itoa(len(of)))
		each = append(each, of...)
	}
	return fmt.Sprintf("%d %d %s %s",
		took.Microseconds(), used.Microseconds(), strings.Join(byTask, ","), strings.Join(each, ","))
}

// Pairs, one after the other; at least one.
func repeat(locks *redsync.Redsync, task int, until time.Time) []string {
	var micros []string
	for {
		began := time.Now()
		lock := locks.NewMutex(fmt.Sprintf("redsync:%d", task), redsync.WithExpiry(lease))
		check(lock.Lock())
		_, err := lock.Unlock()
		check(err)
		ended := time.Now()
		micros = append(micros, fmt.Sprintf("%.1f", float64(ended.Sub(began).Nanoseconds())/1e3))
		if !ended.Before(until) {
			return micros
		}
	}
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "redsync-peer:", why)
	os.Exit(1)
}
