#include "tests/fuzz/isolated.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "tests/support/child_process.hpp"

namespace gradjit::test {
namespace {

/// Checks of one child: few enough for the time that it has, enough that starting it costs little.
constexpr std::size_t batch = 25;

/// What a child leaves behind, however it ends.
class Note {
 public:
  struct Content {
    std::size_t index;
    char failure[4000];
  };

  Note() {
    void* memory = mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("mmap failed");
    }
    content_ = static_cast<Content*>(memory);  // All zeros.
  }
  ~Note() { munmap(content_, sizeof(Content)); }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

  Content* operator->() const { return content_; }
  void write(const std::string& failure) const {
    content_->failure[failure.copy(content_->failure, sizeof(Content::failure) - 1)] = '\0';
  }

 private:
  Content* content_;
};

}  // namespace

std::string checked(const std::function<std::string()>& check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

std::optional<Found> first_failure(std::size_t count, const std::function<std::string(std::size_t)>& check) {
  const Note note;
  for (std::size_t first = 0; first < count; first += batch) {
    const int status = run_in_child([&] {
      for (note->index = first; note->index < std::min(first + batch, count); ++note->index) {
        const std::string failure = checked([&] { return check(note->index); });
        if (!failure.empty()) {
          note.write(failure);
          return false;
        }
      }
      return true;
    });
    if (status < 0) {
      return Found{note->index, std::string("ended: ") + strsignal(-status)};
    }
    if (status != 0) {
      const std::string failure = note->failure;
      return Found{note->index, failure.empty() ? "ended: status " + std::to_string(status) : failure};
    }
  }
  return std::nullopt;
}

}  // namespace gradjit::test
