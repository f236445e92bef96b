//! The kernel with the same task: routes, rules of nftables, and ipvs where the kernel has it.

use super::lab::{self, INSIDE, Lab, OUTSIDE, station};
use super::traffic::{BALANCED, BALANCED_TCP, FIREWALL_SERVICE, INSIDE_SERVICE, PUBLIC, UDP_SERVICE};
use super::verdicts::Balanced;
use super::{AppArg, failed, missing};
use console::output::Exit;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

/// Next hops of the middle, which have a neighbour entry each: nobody asks for addresses.
const NEXT_INSIDE: &str = "169.254.1.2";
const NEXT_OUTSIDE: &str = "169.254.2.2";

/// The kernel's balancers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balancer {
    Ipvs,
    /// `dnat` to a server by a hash of the client.
    Nftables,
}

pub struct Kernel<'l> {
    lab: &'l Lab,
    app: AppArg,
    balancer: Balancer,
}

/// The balancer of this kernel.
pub fn balancer() -> Balancer {
    let has_tool = Command::new("ipvsadm").arg("--version").output().is_ok();
    // Loads the module where there is one.
    let lists = || {
        let listed = Command::new("ipvsadm").arg("-Ln").stdout(Stdio::null()).stderr(Stdio::null()).status();
        listed.is_ok_and(|status| status.success())
    };
    if has_tool && lists() { Balancer::Ipvs } else { Balancer::Nftables }
}

fn address(bits: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(bits)
}

fn server_address(n: u32) -> Ipv4Addr {
    address(0x0a01_0000 + n)
}

impl<'l> Kernel<'l> {
    pub fn start(lab: &'l Lab, app: AppArg, balancer: Balancer) -> Result<Kernel<'l>, Exit> {
        let kernel = Kernel { lab, app, balancer };
        kernel.route()?;
        let liberal = |name: &str, value: u32| {
            lab.in_middle(&format!("echo {value} > /proc/sys/net/netfilter/nf_conntrack_tcp_{name}"))
        };
        kernel.tell(&["nft", "-f", "-"], &kernel.rules(&[1, 2, 3]))?;
        match app {
            // Neither follows sequence numbers.
            AppArg::Nat => liberal("be_liberal", 1).and_then(|()| liberal("ignore_invalid_rst", 1))?,
            AppArg::Firewall => liberal("loose", 0)?,
            AppArg::Lb => ["be_liberal", "ignore_invalid_rst"]
                .iter()
                .try_for_each(|name| liberal(name, 1))
                .and_then(|()| liberal("loose", 0))?,
        }
        if app == AppArg::Lb && balancer == Balancer::Ipvs {
            kernel.ipvs(&[1, 2, 3])?;
        }
        Ok(kernel)
    }

    fn tell(&self, program: &[&str], text: &str) -> Result<(), Exit> {
        self.lab.tell_middle(program, text).map_err(|why| failed(&why))
    }

    /// A router between both interfaces.
    fn route(&self) -> Result<(), Exit> {
        let lab = self.lab;
        lab.in_middle(
            "echo 1 > /proc/sys/net/ipv4/ip_forward; \
             for i in all default inside outside; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; \
             echo 0 > /proc/sys/net/ipv4/conf/$i/send_redirects; done",
        )?;
        lab.ip_in_middle(&format!("addr add 169.254.1.1/30 dev {INSIDE}"))?;
        // The address that masquerading takes is the first one.
        lab.ip_in_middle(&format!("addr add {}/32 dev {OUTSIDE}", address(PUBLIC)))?;
        let neighbour = |next: &str, mac: [u8; 6], dev: &str| {
            lab.ip_in_middle(&format!("neigh add {next} lladdr {} dev {dev} nud permanent", station(mac)))
        };
        neighbour(NEXT_INSIDE, lab::CLIENT, INSIDE)?;
        neighbour(NEXT_OUTSIDE, lab::SERVER, OUTSIDE)?;
        let (inside, outside) = match self.app {
            AppArg::Nat | AppArg::Firewall => ("10.0.0.0/8", "default"),
            AppArg::Lb => ("default", "10.1.0.0/16"),
        };
        lab.ip_in_middle(&format!("route add {inside} via {NEXT_INSIDE} dev {INSIDE} onlink"))?;
        if self.app != AppArg::Lb {
            return lab.ip_in_middle(&format!("route add {outside} via {NEXT_OUTSIDE} dev {OUTSIDE} onlink"));
        }
        lab.ip_in_middle(&format!("route add {outside} dev {OUTSIDE}"))?;
        (1..=3).try_for_each(|n| {
            let mut mac = lab::SERVER;
            mac[5] = n as u8;
            neighbour(&server_address(n).to_string(), mac, OUTSIDE)
        })
    }

    /// Rules that let through what belongs to a connection, and what may open one.
    fn rules(&self, servers: &[u32]) -> String {
        let forward = |rules: &str| {
            format!(
                "table ip siding {{\n chain forward {{\n  type filter hook forward priority 0; policy drop;\n\
                 ct state invalid drop\n{rules}\n }}\n chain input {{\n  type filter hook input priority 0; policy drop;\n }}\n}}\n"
            )
        };
        let inside = address(INSIDE_SERVICE);
        match self.app {
            AppArg::Nat => {
                forward(&format!("iifname \"{INSIDE}\" accept\n ct state established,related accept"))
                    + &format!(
                        "table ip siding_nat {{\n chain post {{\n  type nat hook postrouting priority 100;\n  \
                         oifname \"{OUTSIDE}\" masquerade\n }}\n}}\n"
                    )
            }
            AppArg::Firewall => forward(&format!(
                "ct state established,related accept\n iifname \"{INSIDE}\" accept\n\
                 ip daddr {inside} tcp dport {FIREWALL_SERVICE} accept\n\
                 ip daddr {inside} udp dport {UDP_SERVICE} accept"
            )),
            AppArg::Lb if self.balancer == Balancer::Nftables => {
                let map: Vec<String> = servers
                    .iter()
                    .enumerate()
                    .map(|(i, n)| format!("{i} : {}", server_address(*n)))
                    .collect();
                let dnat = |protocol: &str, port: u16| {
                    format!(
                        "  ip daddr {} {protocol} dport {port} dnat to jhash ip saddr . {protocol} sport mod {} map {{ {} }}\n",
                        address(BALANCED),
                        servers.len(),
                        map.join(", ")
                    )
                };
                forward("ct status dnat accept")
                    + &format!(
                        "table ip siding_nat {{\n chain pre {{\n  type nat hook prerouting priority -100;\n{}{} }}\n}}\n",
                        dnat("tcp", BALANCED_TCP),
                        dnat("udp", UDP_SERVICE)
                    )
            }
            AppArg::Lb => String::new(),
        }
    }

    /// Services of ipvs, with servers that answer past it.
    fn ipvs(&self, servers: &[u32]) -> Result<(), Exit> {
        let services = [("-t", BALANCED_TCP), ("-u", UDP_SERVICE)];
        let mut text = String::new();
        for (kind, port) in services {
            let service = format!("{}:{port}", address(BALANCED));
            text += &format!("-A {kind} {service} -s rr\n");
            for n in servers {
                text += &format!("-a {kind} {service} -r {} -g\n", server_address(*n));
            }
        }
        self.lab.ip_in_middle(&format!("addr add {}/32 dev {INSIDE}", address(BALANCED)))?;
        self.tell(&["ipvsadm", "-R"], &text)
    }
}

impl Balanced for Kernel<'_> {
    fn set_servers(&mut self, servers: &[u32]) -> Result<(), Exit> {
        match self.balancer {
            Balancer::Nftables => {
                let rules =
                    format!("delete table ip siding_nat\ndelete table ip siding\n{}", self.rules(servers));
                self.tell(&["nft", "-f", "-"], &rules)
            }
            Balancer::Ipvs => (1..=3_u32).try_for_each(|n| {
                let weight = if servers.contains(&n) { 1 } else { 0 };
                [("-t", BALANCED_TCP), ("-u", UDP_SERVICE)].iter().try_for_each(|(kind, port)| {
                    let service = format!("{}:{port}", address(BALANCED));
                    self.lab.in_middle(&format!(
                        "ipvsadm -e {kind} {service} -r {} -g -w {weight}",
                        server_address(n)
                    ))
                })
            }),
        }
    }

    fn sees_answers(&self) -> bool {
        self.balancer == Balancer::Nftables
    }
}

/// Says which programs lack.
pub fn check() -> Result<(), Exit> {
    let has = |program: &str, option: &str| Command::new(program).arg(option).output().is_ok();
    for (program, option, package) in [("ip", "-V", "iproute2"), ("nft", "--version", "nftables")] {
        if !has(program, option) {
            return Err(missing(&format!("there is no `{program}`; install it: apt-get install {package}")));
        }
    }
    Ok(())
}

/// Rules of each kind that a comparison has: what the kernel refuses, it cannot do.
const PROBE: &str = "table ip siding_probe {
 chain forward {
  type filter hook forward priority 0;
  ct state invalid drop
 }
 chain post {
  type nat hook postrouting priority 100;
  masquerade
 }
 chain pre {
  type nat hook prerouting priority -100;
  tcp dport 1 dnat to jhash ip saddr mod 1 map { 0 : 10.0.0.1 }
 }
}
delete table ip siding_probe
";

/// Says what lacks in the kernel.
pub fn check_in(lab: &Lab) -> Result<(), Exit> {
    lab.tell_middle(&["nft", "-f", "-"], PROBE).map_err(|why| {
        missing(&format!(
            "this kernel lacks what nftables needs; load it: modprobe -a nf_tables nf_conntrack nft_ct nft_masq nft_nat nft_hash ({why})"
        ))
    })
}
