// P4Runtime requests through shared memory, for controllers in C++ that make their messages as ever.
//
//     siding::P4Runtime switch_("/run/siding/shm", {.election_id_low = 1});
//     siding::Status status = switch_.Write(request);   // a p4::v1::WriteRequest
//     if (!status.ok()) std::cerr << status.error_message();
//
// Messages are any type with ByteSizeLong() and SerializeToArray(), such as those that protoc generates, so this header needs none
// of them. Link with siding_shm.c. A session is for one thread at a time.
#ifndef SIDING_P4RUNTIME_HPP
#define SIDING_P4RUNTIME_HPP

#include "../c/siding_shm.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace siding {

// The outcome of a request, with the functions of grpc::Status.
class Status {
  public:
    Status() = default;
    Status(int code, std::string message, std::string details)
        : code_(code), message_(std::move(message)), details_(std::move(details)) {}

    bool ok() const { return code_ == 0; }
    // A canonical code: static_cast<grpc::StatusCode>() makes it gRPC's.
    int error_code() const { return code_; }
    const std::string &error_message() const { return message_; }
    // An encoded google.rpc.Status, with a p4.v1.Error for each update of a failed request.
    const std::string &error_details() const { return details_; }

  private:
    int code_ = 0;
    std::string message_, details_;
};

struct Options {
    uint64_t device_id = 0;
    std::string role = {};
    uint64_t election_id_high = 0;
    uint64_t election_id_low = 0;
    uint32_t n_slots = 0;
    uint32_t slot_bytes = 0;
    uint32_t timeout_ms = 0;
};

// A session with a switch: one controller of P4Runtime.
class P4Runtime {
  public:
    // Connects and arbitrates; ok() tells how that went.
    explicit P4Runtime(const std::string &path, const Options &options = {}) {
        siding_shm_options given = {};
        given.device_id = options.device_id;
        given.role = options.role.c_str();
        given.election_id_high = options.election_id_high;
        given.election_id_low = options.election_id_low;
        given.has_election_id = options.election_id_high != 0 || options.election_id_low != 0;
        given.n_slots = options.n_slots;
        given.slot_bytes = options.slot_bytes;
        given.timeout_ms = options.timeout_ms;
        siding_shm *opened = nullptr;
        int code = siding_shm_open(&opened, path.c_str(), &given);
        shm_.reset(opened);
        opening_ = status(code);
    }

    const Status &opening() const { return opening_; }
    bool is_primary() const { return opening_.ok() && siding_shm_is_primary(shm_.get()) != 0; }
    // For the functions of siding_shm.h.
    siding_shm *get() const { return shm_.get(); }

    // In the place of the gRPC stub's Write.
    template <typename WriteRequest> Status Write(const WriteRequest &request) {
        if (!opening_.ok())
            return opening_;
        serialise(request);
        return status(siding_shm_write(shm_.get(), bytes_.data(), bytes_.size()));
    }

    // Reads; `take` gets each response.
    template <typename ReadResponse, typename ReadRequest, typename Take>
    Status Read(const ReadRequest &request, Take take) {
        if (!opening_.ok())
            return opening_;
        serialise(request);
        struct Context {
            Take &take;
            bool is_good;
        } context{take, true};
        auto one = [](void *given, const void *bytes, size_t n_bytes) {
            Context *context = static_cast<Context *>(given);
            ReadResponse response;
            context->is_good = response.ParseFromArray(bytes, static_cast<int>(n_bytes)) && context->is_good;
            context->take(response);
        };
        int code = siding_shm_read(shm_.get(), bytes_.data(), bytes_.size(), one, &context);
        if (code == 0 && !context.is_good)
            return Status(SIDING_SHM_INTERNAL, "the answer cannot be decoded", "");
        return status(code);
    }

    // Sends a StreamMessageRequest.
    template <typename Request> Status Send(const Request &request) {
        if (!opening_.ok())
            return opening_;
        serialise(request);
        return status(siding_shm_send(shm_.get(), bytes_.data(), bytes_.size()));
    }

    // The next StreamMessageResponse, if one comes within the time.
    template <typename Response> std::optional<Response> Receive(uint32_t timeout_ms) {
        const void *bytes = nullptr;
        size_t n_bytes = 0;
        Response response;
        if (!opening_.ok() || siding_shm_receive(shm_.get(), timeout_ms, &bytes, &n_bytes) != 0 || bytes == nullptr ||
            !response.ParseFromArray(bytes, static_cast<int>(n_bytes)))
            return std::nullopt;
        return response;
    }

  private:
    struct Close {
        void operator()(siding_shm *shm) const { siding_shm_close(shm); }
    };

    template <typename Message> void serialise(const Message &message) {
        bytes_.resize(message.ByteSizeLong());
        message.SerializeToArray(bytes_.data(), static_cast<int>(bytes_.size()));
    }

    Status status(int code) const {
        if (code == 0)
            return Status();
        size_t n_bytes = 0;
        const void *details = shm_ ? siding_shm_status(shm_.get(), &n_bytes) : nullptr;
        const char *text = siding_shm_error(shm_.get());
        return Status(code, text, details ? std::string(static_cast<const char *>(details), n_bytes) : std::string());
    }

    std::unique_ptr<siding_shm, Close> shm_;
    Status opening_;
    std::vector<char> bytes_;
};

} // namespace siding

#endif
