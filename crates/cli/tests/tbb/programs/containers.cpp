// Containers and what belongs to threads: made for many tasks at once.
#include "common.h"

static const int N = 200;
static std::atomic<long> result;

CASE(concurrent_vector) {
  tbb::concurrent_vector<std::string> vector;
  tbb::parallel_for(0, N, [&](int i) {
    if (vector.push_back(std::to_string(i))->empty()) std::abort();
    if (i % 16 == 0) vector.grow_by(3, "x");
  });
  for (auto& text : vector) result += long(text.size());
}

CASE(concurrent_queues) {
  tbb::concurrent_queue<std::string> queue;
  tbb::concurrent_bounded_queue<int*> bounded;
  tbb::concurrent_priority_queue<int> priority;
  tbb::parallel_for(0, N, [&](int i) {
    queue.push(std::to_string(i));
    bounded.push(new int(i));
    priority.push(i);
    std::string text;
    if (queue.try_pop(text)) result += long(text.size());
    int* number;
    if (bounded.try_pop(number)) {
      result += *number;
      delete number;
    }
    if (i % 2 && priority.try_pop(i)) result += i;
  });
  int* number;
  while (bounded.try_pop(number)) delete number;
}

CASE(concurrent_hash_map) {
  using Map = tbb::concurrent_hash_map<int, std::string>;
  Map map;
  tbb::parallel_for(0, N, [&](int i) {
    {
      Map::accessor at;
      map.insert(at, i % 37);
      at->second += "x";
    }
    {
      Map::const_accessor at;
      if (map.find(at, i * 7 % 37)) result += long(at->second.size());
    }
    if (i % 50 == 49) map.erase(i % 37);
  });
  for (auto& pair : map) result += long(pair.second.size());
}

CASE(concurrent_maps) {
  tbb::concurrent_unordered_map<int, int> unordered;
  tbb::concurrent_map<int, int> ordered;
  tbb::concurrent_unordered_set<std::string> texts;
  tbb::parallel_for(0, N, [&](int i) {
    unordered.insert({i, i});
    ordered.insert({i, i});
    texts.insert(std::to_string(i % 50));
    auto one = unordered.find(i / 2);
    if (one != unordered.end()) result += one->second;
    auto other = ordered.find(i / 2);
    if (other != ordered.end()) result += other->second;
  });
}

CASE(belongs_to_threads) {
  tbb::enumerable_thread_specific<long> counts(0L);
  tbb::enumerable_thread_specific<std::vector<int>> lists;
  tbb::combinable<long> sums([] { return 0L; });
  tbb::parallel_for(0, N, [&](int i) {
    counts.local() += i;
    lists.local().push_back(i);
    // Meanwhile the thread may run another one of these.
    tbb::parallel_for(0, 4, [&](int j) { sums.local() += j; });
    sums.local() += i;
  });
  result = counts.combine(std::plus<long>()) + sums.combine(std::plus<long>()) + long(tbb::flatten2d(lists).size());
}

CASE(once) {
  tbb::collaborative_once_flag flag;
  int x = 0;
  tbb::parallel_for(0, N, [&](int) {
    tbb::collaborative_call_once(flag, [&] { x = 7; });
    if (x != 7) std::abort();
  });
}
