// The C++ class with messages that are bytes already.
#include "siding_p4runtime.hpp"

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

struct Bytes {
    std::string bytes;
    size_t ByteSizeLong() const { return bytes.size(); }
    bool SerializeToArray(void *to, int n_bytes) const {
        std::memcpy(to, bytes.data(), static_cast<size_t>(n_bytes));
        return true;
    }
    bool ParseFromArray(const void *from, int n_bytes) {
        bytes.assign(static_cast<const char *>(from), static_cast<size_t>(n_bytes));
        return true;
    }
};

// Arguments: the socket, files with a WriteRequest and a ReadRequest.
int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    auto file = [](const char *path) {
        std::ifstream in(path, std::ios::binary);
        return Bytes{std::string(std::istreambuf_iterator<char>(in), {})};
    };
    siding::Options options;
    options.election_id_low = 2000;
    siding::P4Runtime controller(argv[1], options);
    if (!controller.is_primary()) {
        std::cerr << controller.opening().error_message() << "\n";
        return 1;
    }
    siding::Status status = controller.Write(file(argv[2]));
    std::cout << status.error_code() << "\n";
    status = controller.Write(file(argv[2]));
    std::cout << status.error_code() << " " << status.error_details().size() << "\n";
    size_t n_bytes = 0;
    status = controller.Read<Bytes>(file(argv[3]), [&](const Bytes &response) { n_bytes += response.bytes.size(); });
    std::cout << status.error_code() << " " << (n_bytes > 0) << "\n";
    std::cout << controller.Receive<Bytes>(1000).has_value() << "\n";
    siding::P4Runtime nowhere("/nowhere/shm", options);
    std::cout << nowhere.Write(Bytes{}).error_code() << "\n";
    return 0;
}
