# A Python that has mininet, p4runtime, scapy and PTF: sets `venv` to its environment. Sourced by scripts.

python_with_mininet() {
    local package
    venv="${TUTORIALS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/siding-tutorials}"
    if "$venv/bin/python" -c 'import mininet, p4.tmp.p4config_pb2, p4runtime_sh.p4runtime, google.rpc.status_pb2, ptf, psutil, scapy'; then
        return
    fi
    "${PYTHON:-/usr/bin/python3}" -m venv --system-site-packages "$venv" || return
    "$venv/bin/pip" install -q p4runtime-shell==0.0.6 p4runtime==1.4.1 protobuf==3.20.3 grpcio psutil scapy ptf==0.12.0 || return
    package="$("$venv/bin/python" -c 'import p4.v1, os; print(os.path.dirname(os.path.dirname(p4.v1.__file__)))')/tmp" || return
    mkdir -p "$package"
    touch "$package/__init__.py"
    # No package of PyPI has it.
    cp "$(dirname "${BASH_SOURCE[0]}")/p4config.py" "$package/p4config_pb2.py"
}
