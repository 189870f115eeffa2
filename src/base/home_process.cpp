#include "base/home_process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"

namespace ackbox {

std::atomic<std::uint32_t> HomeProcess::forks = 0;

/// The state that a fork needs. Never destroyed: a fork may come while the program ends.
class ForkRegistry {
public:
  struct File {
    std::uint64_t number;
    std::filesystem::path path;
    HomeProcess home;
  };

  static ForkRegistry& get() {
    static auto* const registry = new ForkRegistry;
    return *registry;
  }

  // Held during a fork, so that the child finds consistent data. A plain mutex: the child's only thread is a copy of
  // the one that locked it, and unlocks it.
  std::mutex mutex;
  std::vector<File> files;
  std::vector<int> descriptors;
  std::vector<std::pair<const void*, UnsharedObject::DescriptorOf>> objects;
  std::vector<std::shared_ptr<void>> abandoned;
  std::uint64_t lastNumber = 0;

private:
  ForkRegistry() {
    pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                   [] {
                     ForkRegistry& registry = get();
                     HomeProcess::forks.fetch_add(1, std::memory_order_relaxed);
                     for (const int descriptor : registry.descriptors) {
                       close(descriptor);
                     }
                     registry.descriptors.clear();
                     for (const auto& [object, descriptorOf] : registry.objects) {
                       close(descriptorOf(object));
                     }
                     registry.objects.clear();
                     registry.mutex.unlock();
                   });
  }
};

HomeProcess::HomeProcess() : process_(getpid()) {
  ForkRegistry::get();
  generation_ = forks.load(std::memory_order_relaxed);
}

void HomeProcess::refuse() const {
  throw Error(Errc::otherProcess,
              "opened by process " + std::to_string(process_) + ", used by its child " + std::to_string(getpid()));
}

void HomeProcess::abandon(std::shared_ptr<void> inherited) {
  ForkRegistry& registry = ForkRegistry::get();
  const std::scoped_lock lock(registry.mutex);
  registry.abandoned.push_back(std::move(inherited));
}

OpenFile::OpenFile(const std::filesystem::path& file) {
  ForkRegistry& registry = ForkRegistry::get();
  const HomeProcess here;
  const std::scoped_lock lock(registry.mutex);
  for (const ForkRegistry::File& other : registry.files) {
    std::error_code ignored;
    if (!other.home.isHere() && (other.path == file || std::filesystem::equivalent(other.path, file, ignored))) {
      throw Error(Errc::otherProcess, file.string() + " was open when this process was forked");
    }
  }
  registry.files.push_back({registry.lastNumber + 1, file, here});
  number_ = ++registry.lastNumber;
}

OpenFile::~OpenFile() {
  ForkRegistry& registry = ForkRegistry::get();
  const std::scoped_lock lock(registry.mutex);
  std::erase_if(registry.files, [this](const ForkRegistry::File& file) { return file.number == number_; });
}

int UnsharedDescriptor::hold(const std::function<int()>& open) {
  ForkRegistry& registry = ForkRegistry::get();
  const std::scoped_lock lock(registry.mutex);
  // Before the descriptor is opened, because this may run out of memory.
  registry.descriptors.reserve(registry.descriptors.size() + 1);
  descriptor_ = open();
  if (descriptor_ >= 0) {
    registry.descriptors.push_back(descriptor_);
  }
  return descriptor_;
}

void UnsharedDescriptor::release(const std::function<void(int)>& close) noexcept {
  if (descriptor_ < 0) {
    return;
  }
  ForkRegistry& registry = ForkRegistry::get();
  const std::scoped_lock lock(registry.mutex);
  std::erase(registry.descriptors, descriptor_);
  if (close) {
    close(descriptor_);
  }
  descriptor_ = -1;
}

void UnsharedObject::hold(const void* object, DescriptorOf descriptorOf) {
  ForkRegistry& registry = ForkRegistry::get();
  const std::scoped_lock lock(registry.mutex);
  registry.objects.emplace_back(object, descriptorOf);
  object_ = object;
}

void UnsharedObject::release() noexcept {
  if (object_ != nullptr) {
    ForkRegistry& registry = ForkRegistry::get();
    const std::scoped_lock lock(registry.mutex);
    std::erase_if(registry.objects, [this](const auto& held) { return held.first == object_; });
    object_ = nullptr;
  }
}

}  // namespace ackbox
