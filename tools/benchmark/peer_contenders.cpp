#include "tools/benchmark/peer_contenders.hpp"

#include <array>
#include <utility>

namespace gradjit::bench {
namespace {

/// A request with what it points to.
class Request {
 public:
  Request(const Case& source, std::shared_ptr<const Tensors> tensors)
      : dims_(source.shape), strides_(source.strides()), tensors_(std::move(tensors)) {
    const bool is_elu = source.operation == Operation::elu_backward;
    request_ = {.operation = is_elu ? gradjit_peer_elu_backward : gradjit_peer_log_softmax_backward,
                .type = static_cast<gradjit_peer_type>(source.dtype),
                .rank = static_cast<int>(dims_.size()),
                .dims = dims_.data(),
                .input_strides = strides_[0].data(),
                .diff_dst_strides = strides_[1].data(),
                .diff_src_strides = strides_[2].data(),
                .axis = source.axis,
                .alpha = alpha,
                .use_dst = source.use_dst ? 1 : 0,
                .threads = source.threads,
                .input = tensors_->input(),
                .diff_dst = tensors_->diff_dst(),
                .diff_src = source.in_place ? tensors_->diff_dst() : tensors_->diff_src()};
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  [[nodiscard]] const gradjit_peer_request& get() const { return request_; }

 private:
  Dims dims_;
  std::array<Dims, 3> strides_;
  std::shared_ptr<const Tensors> tensors_;
  gradjit_peer_request request_;
};

class PeerRunning : public Contender {
 public:
  PeerRunning(std::unique_ptr<Request> request, const gradjit_peer& peer, void* created)
      : request_(std::move(request)), peer_(peer), created_(created) {}
  ~PeerRunning() override { peer_.destroy(created_); }

  [[nodiscard]] Call call() override { return {peer_.run, created_}; }

 private:
  std::unique_ptr<Request> request_;
  const gradjit_peer& peer_;
  void* created_;
};

class PeerCreating : public Contender {
 public:
  PeerCreating(std::unique_ptr<Request> request, const gradjit_peer& peer)
      : request_(std::move(request)), peer_(peer) {}

  [[nodiscard]] Call call() override {
    return {[](void* context) {
              const auto& self = *static_cast<const PeerCreating*>(context);
              static_cast<void>(self.peer_.make_kernel(&self.request_->get()));
            },
            this};
  }

 private:
  std::unique_ptr<Request> request_;
  const gradjit_peer& peer_;
};

}  // namespace

std::unique_ptr<Contender> make_peer_contender(const Case& source, const Peer& peer,
                                               const std::shared_ptr<const Tensors>& tensors,
                                               std::string& refusal) {
  const gradjit_peer& functions = peer.functions();
  auto request = std::make_unique<Request>(source, tensors);
  if (source.measures == Measures::create) {
    if (functions.make_kernel == nullptr) {
      refusal = "makes no kernels";
      return nullptr;
    }
    if (functions.make_kernel(&request->get()) == 0) {
      refusal = "cannot make this kernel";
      return nullptr;
    }
    return std::make_unique<PeerCreating>(std::move(request), functions);
  }
  if (source.measures != Measures::run) {
    refusal = "has no factory to ask";
    return nullptr;
  }
  std::array<char, 256> reason = {};
  void* created = functions.create(&request->get(), reason.data(), reason.size());
  if (created == nullptr) {
    refusal = reason.data();
    return nullptr;
  }
  return std::make_unique<PeerRunning>(std::move(request), functions, created);
}

}  // namespace gradjit::bench
